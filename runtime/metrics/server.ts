import type { Registry } from 'prom-client';
import {
  type HttpRequest,
  type HttpResponse,
  HttpServer,
  isLocalName,
  isLoopback,
  parseListen,
} from '../../broker/http/index.js';
import type { Logger } from '../../broker/index.js';
import type { Clock } from '../../config/index.js';
import { FRESH_MILLIS, type Health, type HealthAnswer } from './health.js';

export interface OperatingPages {
  readonly registry: Registry;
  readonly health: Health;
  readonly clock: Clock;
  collect(): void;
}

const MAX_CONNECTIONS = 32;

/**
 * `/metrics`, `/livez`, `/readyz` (`?verbose`) by GET, on loopback for local names only. Rejects if
 * it cannot listen.
 */
export async function servePages(
  listen: string,
  pages: OperatingPages,
  logger: Logger,
): Promise<HttpServer> {
  const { host, port } = parseListen(listen);
  const server = await HttpServer.listen(host, port, {
    methods: ['GET', 'HEAD'],
    maxConnections: MAX_CONNECTIONS,
    logger,
  });
  const exposition = new Exposition(pages);
  const isGuarded = isLoopback(host);
  server.serve((request: HttpRequest): HttpResponse | Promise<HttpResponse> => {
    if (isGuarded && !isLocalName(request.host)) return plain(421, 'not the name of this host\n');
    const { path, query } = request;
    if (path === '/metrics') return exposition.answer();
    if (path === '/livez') return healthAnswer(pages.health.live(query.has('verbose')));
    if (path === '/readyz') return healthAnswer(pages.health.ready(query.has('verbose')));
    return plain(404, '/metrics, /livez or /readyz\n');
  });
  return server;
}

const plain = (status: number, body: string): HttpResponse => ({
  status,
  type: 'text/plain; charset=utf-8',
  body,
});
const healthAnswer = ({ status, text }: HealthAnswer): HttpResponse => plain(status, text);

/** Rendering takes milliseconds of the event loop: once for all scrapes of a moment. */
class Exposition {
  readonly #pages: OperatingPages;
  #rendered: Promise<HttpResponse> | null = null;
  #at = Number.NEGATIVE_INFINITY;

  constructor(pages: OperatingPages) {
    this.#pages = pages;
  }

  answer(): Promise<HttpResponse> {
    const now = this.#pages.clock.monotonic();
    if (this.#rendered === null || now - this.#at >= FRESH_MILLIS) {
      this.#at = now;
      this.#rendered = this.#render();
      // What failed is tried again at the next scrape.
      this.#rendered.catch(() => {
        this.#rendered = null;
      });
    }
    return this.#rendered;
  }

  async #render(): Promise<HttpResponse> {
    const { registry } = this.#pages;
    this.#pages.collect();
    return { status: 200, type: registry.contentType, body: await registry.metrics() };
  }
}
