import type { IncomingHttpHeaders } from 'node:http';

const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]'];

/**
 * Which names the dashboard goes by. Anything else is a page of somebody else's that was made to
 * point here.
 */
export class HostGuard {
  readonly #allowed: ReadonlySet<string>;

  /** `address`, `port`: where it listens; `names`: further ones, with or without a port. */
  constructor(address: string, port: number, names: readonly string[]) {
    const own = address.includes(':') ? `[${address}]` : address;
    const here = [...LOOPBACK, own].map((name) => `${name}:${port}`);
    this.#allowed = new Set(
      [...here, ...names.flatMap((name) => [name, `${name}:${port}`])].map((name) =>
        name.toLowerCase(),
      ),
    );
  }

  allows(host: string | undefined): boolean {
    return host !== undefined && this.#allowed.has(host.toLowerCase());
  }

  /** A browser says where a request comes from; other programs say nothing and have the token. */
  sameOrigin({ origin, 'sec-fetch-site': site }: IncomingHttpHeaders): boolean {
    if (site !== undefined && site !== 'same-origin') return false;
    if (origin === undefined) return true;
    try {
      return this.allows(new URL(origin).host);
    } catch {
      return false;
    }
  }
}
