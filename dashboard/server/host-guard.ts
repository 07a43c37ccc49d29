import type { IncomingHttpHeaders } from 'node:http';

const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]'];

/** Host names under which the dashboard answers; refuses others against DNS rebinding. */
export class HostGuard {
  readonly #allowed: ReadonlySet<string>;

  /** `names`: further host names, with or without a port. */
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

  /**
   * Browsers send the origin of a request; other programs send none. `none`: no page sent it, but a
   * person who typed the address.
   */
  sameOrigin({ origin, 'sec-fetch-site': site }: IncomingHttpHeaders): boolean {
    if (site !== undefined && site !== 'same-origin' && site !== 'none') return false;
    if (origin === undefined) return true;
    try {
      return this.allows(new URL(origin).host);
    } catch {
      return false;
    }
  }
}
