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

export const httpAddress = (host: string, port: number): string =>
  `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
