import { isIPv6 } from 'node:net';

/** `127.0.0.1:9781` or `[::1]:9781`. */
export function parseListen(listen: string): { host: string; port: number } {
  const colon = listen.lastIndexOf(':');
  return {
    host: listen.slice(0, colon).replace(/^\[|\]$/g, ''),
    port: Number(listen.slice(colon + 1)),
  };
}

export const isLoopback = (host: string): boolean => /^127\.|^::1$/.test(host);

/**
 * False for a name that may be a foreign page's, whose owner lets it resolve to this machine (DNS
 * rebinding). True without a name, which browsers always send.
 */
export const isLocalName = (host: string | undefined): boolean =>
  host === undefined || /^(localhost|[\d.]+|\[[\da-f:.]+\])(:\d+)?$/i.test(host);

export const httpAddress = (host: string, port: number): string =>
  `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
