import {
  type HttpRequest,
  type HttpResponse,
  HttpServer,
  type HttpStream,
  httpAddress,
} from '../../broker/http/index.js';
import { type Broker, isFunctionName, type Logger, silentLogger } from '../../broker/index.js';
import {
  type Cancel,
  type Clock,
  errorClass,
  messageOf,
  millis,
  type Timers,
} from '../../config/index.js';
import { act, actionSchema } from './actions.js';
import { readAssets } from './assets.js';
import { Collector } from './collector.js';
import { functionDetail } from './function-detail.js';
import { HostGuard } from './host-guard.js';
import { Stream, WATCHERS_MAX } from './stream.js';
import type { Token } from './token.js';

export interface DashboardOptions {
  readonly broker: Broker;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Where to listen; port 0: any free one. */
  readonly host: string;
  readonly port: number;
  /** Further host names of the page, such as that of a proxy or a tunnel. */
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

export class DashboardPortError extends errorClass('GLN_DASHBOARD_PORT') {
  constructor(address: string, cause: unknown) {
    super(address, messageOf(cause), cause);
  }
}

const BODY_MAX = 4096;
/** A page keeps one connection for its stream and uses a few more for requests. */
const CONNECTIONS_MAX = 4 * WATCHERS_MAX;
/** Wrong tokens per second after which every token is refused until the next second. */
const WRONG_TOKENS_MAX = 5;

/** Scripts, styles, images and connections of this origin only; no framing. */
const HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': [
    "default-src 'none'",
    ...['script', 'style', 'img', 'connect'].map((kind) => `${kind}-src 'self'`),
    ...['base-uri', 'form-action', 'frame-ancestors'].map((kind) => `${kind} 'none'`),
    "require-trusted-types-for 'script'",
  ].join('; '),
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
  const { host, port, logger = silentLogger } = options;
  return new Dashboard(options, readAssets(), await listen(host, port, logger));
}

class Dashboard implements RunningDashboard {
  readonly address: string;
  readonly #options: DashboardOptions;
  readonly #assets: ReturnType<typeof readAssets>;
  readonly #server: HttpServer;
  readonly #guard: HostGuard;
  readonly #collector: Collector;
  readonly #stream: Stream;
  readonly #cancelTick: Cancel;
  /** Wrong tokens in this second. */
  #refusals = 0;

  constructor(
    options: DashboardOptions,
    assets: ReturnType<typeof readAssets>,
    server: HttpServer,
  ) {
    const { broker, clock, timers, maxFunctions, version, token, hosts = [] } = options;
    this.#options = options;
    this.#assets = assets;
    this.#server = server;
    this.address = server.address;
    this.#guard = new HostGuard(server.host, server.port, hosts);
    this.#collector = new Collector({ broker, clock, timers, maxFunctions });
    const about = { version, writable: token !== null };
    this.#stream = new Stream(this.#collector, clock, about);
    this.#collector.start();
    this.#cancelTick = timers.every(millis(1000), () => {
      this.#refusals = 0;
      this.#stream.tick();
    });
    server.serve((request) => this.#handle(request));
  }

  get watchers(): number {
    return this.#stream.pages.open;
  }

  async stop(): Promise<void> {
    this.#cancelTick();
    this.#collector.stop();
    this.#stream.close();
    await this.#server.stop();
  }

  #handle(request: HttpRequest): HttpResponse | HttpStream | Promise<HttpResponse> {
    // DNS rebinding: a foreign page whose name resolves to this address sends its own name.
    if (!this.#guard.allows(request.host))
      return json(421, { ok: false, text: 'not the name of this dashboard' });
    const { path, query } = request;
    if (path.startsWith('/api/') && !this.#guard.sameOrigin(request.headers))
      return json(403, { ok: false, text: 'only from the dashboard itself' });
    if (request.method === 'POST') return this.#change(request);
    const asset = this.#assets.get(path);
    if (asset !== undefined) return { status: 200, type: asset.type, body: asset.data };
    if (path === '/api/stream') return this.#follow();
    if (path === '/api/state') return json(200, this.#stream.snapshot());
    if (path === '/api/function') return this.#detailOf(query.get('name') ?? '');
    return json(404, { ok: false, text: 'no such page' });
  }

  async #detailOf(name: string): Promise<HttpResponse> {
    const { broker } = this.#options;
    const detail = isFunctionName(name)
      ? await functionDetail(broker, this.#collector, name)
      : null;
    return detail === null ? json(404, { ok: false, text: 'no such function' }) : json(200, detail);
  }

  #follow(): HttpResponse | HttpStream {
    if (this.watchers >= WATCHERS_MAX)
      return json(429, { ok: false, text: 'too many pages are open' });
    return {
      type: 'text/event-stream',
      headers: { 'X-Accel-Buffering': 'no' },
      follow: (response) => this.#stream.add(response),
    };
  }

  async #change({ path, headers, body }: HttpRequest): Promise<HttpResponse> {
    if (path !== '/api/act' && path !== '/api/token') return refuse(404, 'no such page');
    const refused = this.#refusalOf(headers.authorization);
    if (refused !== null) return refused;
    if (path === '/api/token') return json(200, { ok: true, text: 'the token is right' });
    const checked = actionSchema.safeParse(parsed(await body()));
    if (!checked.success) {
      const [issue] = checked.error.issues;
      return refuse(400, `${issue?.path.join('.')}: ${issue?.message}`);
    }
    const { broker, logger = silentLogger } = this.#options;
    logger.info({ event: 'dashboard_action', ...checked.data }, 'action from the dashboard');
    try {
      const answer = await act(broker, checked.data);
      return json(answer.ok ? 200 : 502, answer);
    } catch (error) {
      return refuse(502, messageOf(error));
    }
  }

  /** Null: the token is right. */
  #refusalOf(authorization: string | undefined): HttpResponse | null {
    const { token } = this.#options;
    if (token === null) return refuse(403, 'read-only: set dashboard.tokenFile to allow changes');
    if (authorization === undefined) return refuse(401, 'a change needs the token');
    if (this.#refusals >= WRONG_TOKENS_MAX)
      return refuse(429, 'too many wrong tokens; try again in a second');
    if (token.allows(authorization)) return null;
    this.#refusals++;
    return refuse(401, 'this is not the token');
  }
}

async function listen(host: string, port: number, logger: Logger): Promise<HttpServer> {
  try {
    return await HttpServer.listen(host, port, {
      methods: ['GET', 'HEAD', 'POST'],
      maxConnections: CONNECTIONS_MAX,
      maxBodyBytes: BODY_MAX,
      headers: HEADERS,
      refusal: (text) => json(400, { ok: false, text }),
      logger,
    });
  } catch (error) {
    throw new DashboardPortError(httpAddress(host, port), error);
  }
}

const json = (status: number, value: object): HttpResponse => ({
  status,
  type: 'application/json',
  body: JSON.stringify(value),
});

const refuse = (status: number, text: string): HttpResponse => json(status, { ok: false, text });

/** The request's JSON, null where it is none. */
function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return null;
  }
}
