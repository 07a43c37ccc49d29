import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import { messageOf } from '../../config/index.js';
import type { Health } from './health.js';

/** What stands behind the three pages. */
export interface OperatingPages {
  readonly registry: Registry;
  readonly health: Health;
  /** Brings every metric up to date. */
  collect(): void;
}

const CONNECTIONS_MOST = 32;
const REQUEST_MILLIS = 5000;

/** `127.0.0.1:9781` or `[::1]:9781`. */
export function parseListen(listen: string): { host: string; port: number } {
  const colon = listen.lastIndexOf(':');
  return { host: listen.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(listen.slice(colon + 1)) };
}

export const isLoopback = (host: string): boolean => /^127\.|^::1$/.test(host);

/** `/metrics`, `/livez`, `/readyz` (`?verbose`) by GET, nothing else. Rejects where it cannot listen. */
export async function servePages(listen: string, pages: OperatingPages): Promise<Server> {
  const { host, port } = parseListen(listen);
  const server = createServer((request, response) => void respond(request, response, pages));
  server.maxConnections = CONNECTIONS_MOST;
  server.requestTimeout = REQUEST_MILLIS;
  server.headersTimeout = REQUEST_MILLIS;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return server;
}

export function addressOfServer(server: Server): string {
  const { address, port, family } = server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}

async function respond(request: IncomingMessage, response: ServerResponse, pages: OperatingPages): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://host');
  const verbose = url.searchParams.has('verbose');
  const send = (status: number, type: string, text: string): void => {
    response.writeHead(status, {
      'content-type': type,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
    response.end(request.method === 'HEAD' ? undefined : text);
  };
  const plain = (status: number, text: string): void => send(status, 'text/plain; charset=utf-8', text);
  if (request.method !== 'GET' && request.method !== 'HEAD') return plain(405, 'only GET\n');
  try {
    if (url.pathname === '/metrics') {
      pages.collect();
      return send(200, pages.registry.contentType, await pages.registry.metrics());
    }
    if (url.pathname === '/livez' || url.pathname === '/readyz') {
      const { status, text } = url.pathname === '/livez' ? pages.health.live(verbose) : pages.health.ready(verbose);
      return plain(status, text);
    }
    plain(404, '/metrics, /livez or /readyz\n');
  } catch (error) {
    plain(500, `${messageOf(error)}\n`);
  }
}
