import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Broker, isFunctionName, type Logger, silentLogger } from '../../broker/index.js';
import { type Clock, GleanerError, messageOf, millis, type Timers } from '../../config/index.js';
import { act, actionSchema } from './actions.js';
import { type Asset, readAssets } from './assets.js';
import { Collector } from './collector.js';
import { functionDetail } from './function-detail.js';
import { HostGuard } from './host-guard.js';
import { Stream, WATCHERS_MOST } from './stream.js';
import type { Token } from './token.js';

export interface DashboardOptions {
  readonly broker: Broker;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Where to listen; port 0: any free one. */
  readonly host: string;
  readonly port: number;
  /** Further names the page may be asked for by: of a proxy or a tunnel. */
  readonly hosts?: readonly string[];
  /** Null: read-only. */
  readonly token: Token | null;
  /** Functions shown at most. */
  readonly maxFunctions: number;
  readonly version: string;
  readonly logger?: Logger;
}

export interface RunningDashboard {
  /** `http://127.0.0.1:9780` */
  readonly address: string;
  readonly watchers: number;
  stop(): Promise<void>;
}

export class DashboardPortError extends GleanerError {
  readonly code = 'GLN_DASHBOARD_PORT';
  constructor(host: string, port: number, cause: unknown) {
    super(`the dashboard cannot listen on ${host}:${port}: ${messageOf(cause)}`, {
      cause,
      hint: 'set dashboard.listen to another address, or to null for none',
    });
  }
}

const BODY_MOST = 4096;
/** Wrong tokens answered in a second; beyond it nobody is let in until the second is over. */
const REFUSALS_MOST = 5;

/** No script, style, image or connection but our own; nobody may frame the page. */
const HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'X-Frame-Options': 'DENY',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
  'Cache-Control': 'no-store',
};

/** Serves the dashboard until stopped. Rejects `GLN_DASHBOARD_PORT`. */
export async function runDashboard(options: DashboardOptions): Promise<RunningDashboard> {
  const { broker, clock, timers, host, port, token, maxFunctions, version, logger = silentLogger } = options;
  const assets = readAssets();
  const collector = new Collector({ broker, clock, timers, maxFunctions });
  const stream = new Stream(collector, clock, { version, writable: token !== null });
  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      logger.warn({ error: messageOf(error) }, 'a request to the dashboard failed');
      if (response.headersSent) response.destroy();
      else json(response, 500, { ok: false, text: 'failed; the log says why' });
    });
  });
  server.headersTimeout = 5000;
  server.requestTimeout = 10_000;
  server.maxConnections = 4 * WATCHERS_MOST;
  await listen(server, host, port);
  const bound = server.address() as AddressInfo;
  const address = `http://${bound.family === 'IPv6' ? `[${bound.address}]` : bound.address}:${bound.port}`;
  const guard = new HostGuard(bound.address, bound.port, options.hosts ?? []);
  let refusals = 0;
  collector.start();
  const cancelTick = timers.every(millis(1000), () => {
    refusals = 0;
    stream.tick();
  });

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    // A page of somebody else's whose name was made to point here would send its own name (DNS rebinding).
    if (!guard.allows(request.headers.host))
      return json(response, 421, { ok: false, text: 'not the name of this dashboard' });
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://dashboard');
    if (request.method === 'POST') return change(request, response, pathname);
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return json(response, 405, { ok: false, text: 'only GET' });
    const asset = assets.get(pathname);
    if (asset !== undefined) return sendAsset(response, asset, request.method === 'HEAD');
    if (pathname === '/api/stream') return follow(response);
    if (pathname === '/api/state') return json(response, 200, stream.snapshot());
    if (pathname === '/api/function') {
      const name = searchParams.get('name') ?? '';
      const detail = isFunctionName(name) ? await functionDetail(broker, collector, name) : null;
      return detail === null
        ? json(response, 404, { ok: false, text: 'no such function' })
        : json(response, 200, detail);
    }
    json(response, 404, { ok: false, text: 'no such page' });
  }

  function follow(response: ServerResponse): void {
    if (stream.pages.open >= WATCHERS_MOST) {
      json(response, 503, { ok: false, text: 'too many pages are open' });
      return;
    }
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' });
    stream.add(response);
  }

  async function change(request: IncomingMessage, response: ServerResponse, pathname: string): Promise<void> {
    const refuse = (status: number, text: string): void => json(response, status, { ok: false, text });
    if (pathname !== '/api/act' && pathname !== '/api/token') return refuse(404, 'no such page');
    if (token === null) return refuse(403, 'read-only: set dashboard.tokenFile to allow changes');
    if (!guard.sameOrigin(request.headers)) return refuse(403, 'only from the dashboard itself');
    if (refusals >= REFUSALS_MOST) return refuse(429, 'too many wrong tokens; try again in a second');
    if (!token.allows(request.headers.authorization)) {
      refusals++;
      return refuse(401, 'this is not the token');
    }
    if (pathname === '/api/token') return json(response, 200, { ok: true, text: 'the token is right' });
    const checked = actionSchema.safeParse(await body(request));
    if (!checked.success)
      return refuse(400, `${checked.error.issues[0]?.path.join('.')}: ${checked.error.issues[0]?.message}`);
    logger.info({ ...checked.data }, 'asked by the dashboard');
    try {
      const answer = await act(broker, checked.data);
      json(response, answer.ok ? 200 : 502, answer);
    } catch (error) {
      refuse(502, messageOf(error));
    }
  }

  return {
    address,
    get watchers() {
      return stream.pages.open;
    },
    async stop() {
      cancelTick();
      collector.stop();
      stream.close();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(new DashboardPortError(host, port, error)));
    server.listen(port, host, resolve);
  });
}

function sendAsset(response: ServerResponse, { type, data }: Asset, headOnly: boolean): void {
  response.writeHead(200, { 'Content-Type': type, 'Content-Length': data.byteLength });
  response.end(headOnly ? undefined : data);
}

function json(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify(value));
}

/** The request's JSON, null where it is none, or too long. */
async function body(request: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const chunk of request) {
    text += String(chunk);
    if (text.length > BODY_MOST) return null;
  }
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
