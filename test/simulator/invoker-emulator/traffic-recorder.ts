import {
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { allowed } from '../../support/slowness.js';

/**
 * One line of a transcript (test/data/openwhisk-transcript/README.md), as far as it is compared.
 */
export interface Line {
  readonly kind: string;
  readonly method?: string;
  readonly url?: string;
  readonly status?: number;
  readonly userAgent?: string;
  readonly body?: unknown;
  readonly headers?: readonly string[];
  readonly name?: string;
  readonly contentLength?: string;
}

const ENGINE_SOCKET = '/var/run/docker.sock';

async function read(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/**
 * Records what passes between the emulator, the engine and the containers, in the transcript's own
 * format and by its own method: a proxy of the engine's socket that gives every container a
 * loopback address, on which a relay listens.
 */
export class TrafficRecorder {
  readonly lines: Line[] = [];
  readonly #engine: Server;
  readonly #relays = new Map<string, Server>();
  #addresses = 1;

  constructor() {
    this.#engine = createServer((from, to) => void this.#passEngine(from, to));
    this.#engine.timeout = 0;
    this.#engine.requestTimeout = 0;
  }

  async listen(socketPath: string): Promise<void> {
    await new Promise<void>((resolve) => this.#engine.listen(socketPath, resolve));
  }

  async close(): Promise<void> {
    for (const server of [this.#engine, ...this.#relays.values()]) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  }

  /** Waits until the lines are as they should. */
  async until(what: string, fits: () => boolean, timeoutMs = 60_000): Promise<void> {
    const end = Date.now() + allowed(timeoutMs);
    while (!fits()) {
      if (Date.now() > end) throw new Error(`never seen: ${what}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  async #passEngine(from: IncomingMessage, to: ServerResponse): Promise<void> {
    const { method = '', url = '' } = from;
    const sent = await read(from);
    this.lines.push({
      kind: 'engine-request',
      method,
      url,
      userAgent: String(from.headers['user-agent']),
      ...(sent.length > 0 ? { body: JSON.parse(sent.toString('utf8')) } : {}),
    });
    const headers = { ...from.headers };
    const upstream = request(
      { socketPath: ENGINE_SOCKET, method, path: url, headers },
      (answer) => {
        void this.#answerEngine(method, url, answer, to);
      },
    );
    to.on('close', () => upstream.destroy());
    upstream.on('error', () => to.destroy());
    upstream.end(sent);
  }

  async #answerEngine(
    method: string,
    url: string,
    answer: IncomingMessage,
    to: ServerResponse,
  ): Promise<void> {
    const status = answer.statusCode ?? 0;
    const inspected = method === 'GET' && /\/containers\/[0-9a-f]{64}\/json$/.test(url);
    if (!url.includes('/wait')) this.lines.push({ kind: 'engine-response', method, url, status });
    if (inspected && status === 200) {
      const body = Buffer.from(
        JSON.stringify(await this.#readdress(JSON.parse((await read(answer)).toString('utf8')))),
      );
      to.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length });
      to.end(body);
      return;
    }
    to.writeHead(status, answer.headers);
    to.flushHeaders();
    answer.on('error', () => to.destroy());
    answer.pipe(to);
  }

  /** The address in an inspect's answer becomes that of a relay. */
  async #readdress(info: {
    Name: string;
    NetworkSettings: { Networks: Record<string, { IPAddress: string }> };
  }): Promise<unknown> {
    for (const network of Object.values(info.NetworkSettings.Networks)) {
      if (network.IPAddress) network.IPAddress = await this.#relay(info.Name, network.IPAddress);
    }
    return info;
  }

  async #relay(name: string, container: string): Promise<string> {
    const known = this.#relays.get(name);
    if (known) return (known.address() as AddressInfo).address;
    const server = createServer((from, to) => void this.#passContainer(name, container, from, to));
    server.timeout = 0;
    const address = `127.78.0.${++this.#addresses}`;
    this.#relays.set(name, server);
    await new Promise<void>((resolve) => server.listen(8080, address, resolve));
    return address;
  }

  async #passContainer(
    name: string,
    container: string,
    from: IncomingMessage,
    to: ServerResponse,
  ): Promise<void> {
    const { method = '', url = '' } = from;
    const sent = await read(from);
    this.lines.push({
      kind: 'container-request',
      method,
      url,
      name,
      headers: from.rawHeaders,
      body: JSON.parse(sent.toString('utf8')),
    });
    to.on('close', () => {
      if (!to.writableFinished) this.lines.push({ kind: 'client-gone', url, name });
    });
    const call = (): void => {
      // A client that hangs up leaves the container at work: its answer is still recorded.
      const upstream = request(
        { host: container, port: 8080, method, path: url, agent: false },
        (answer) => {
          void read(answer).then((body) => {
            const status = answer.statusCode ?? 0;
            const contentLength = answer.headers['content-length'];
            this.lines.push({
              kind: 'container-response',
              url,
              name,
              status,
              ...(contentLength ? { contentLength } : {}),
            });
            to.writeHead(status, {
              'content-type': 'application/json',
              'content-length': body.length,
            });
            to.end(body);
          });
        },
      );
      upstream.setHeader('content-type', 'application/json');
      upstream.setHeader('content-length', sent.length);
      upstream.on('error', (error: NodeJS.ErrnoException) => {
        // The container does not listen yet: the relay waits in the client's place.
        if (error.code === 'ECONNREFUSED' && !to.destroyed) {
          setTimeout(call, 10);
          return;
        }
        this.lines.push({ kind: 'container-error', url, name });
        to.destroy();
      });
      upstream.end(sent);
    };
    call();
  }
}
