import type { Mutator } from './mutator.js';

/**
 * What is sent over one connection, and how it goes on then. Bytes are characters of one byte each.
 */
export interface Exchange {
  readonly pieces: readonly string[];
  readonly pauseMillis: number;
  /**
   * `answer`: leaves at the first answer, half closes if none comes; `wait`: waits for the
   * server's own end.
   */
  readonly end: 'answer' | 'half_close' | 'reset' | 'wait';
}

const METHODS = [
  'GET',
  'GET',
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'OPTIONS',
  'CONNECT',
  'TRACE',
  'PRI',
  'get',
  'BREW',
  '',
  'X'.repeat(300),
];
const TARGETS = [
  '/metrics',
  '/livez',
  '/readyz?verbose',
  '/',
  '/api/state',
  '/api/function?name=%2Fguest%2Fhello',
  '/api/function?name=%ff%',
  '/api/act',
  '/api/token',
  '/api/stream',
  '/app/main.js',
  '//',
  '///x',
  '//[::1',
  '/\\',
  '/%',
  '/../../etc/passwd',
  '*',
  '',
  'x',
  'http://',
  'http://[',
  'http://localhost/livez',
  'HTTP://user:password@x:99999999/a?b#c',
  'example.org:443',
  `/${'a'.repeat(3000)}`,
  `/?${'a=b&'.repeat(400)}`,
];
const VERSIONS = [
  'HTTP/1.1',
  'HTTP/1.1',
  'HTTP/1.1',
  'HTTP/1.1',
  'HTTP/1.0',
  'HTTP/0.9',
  'HTTP/2.0',
  'HTTP/1.1.1',
  'HTTP/',
  '',
  'ICE/1.0',
];
const LENGTHS = [
  '0',
  '1',
  '7',
  '4096',
  '4097',
  '1000000',
  '-1',
  '+1',
  '0x7',
  '1e3',
  '18446744073709551617',
  '5, 5',
  '',
];
const ENCODINGS = [
  'chunked',
  'Chunked',
  'gzip, chunked',
  'chunked, chunked',
  'identity',
  'x',
  'chunked\r\nTransfer-Encoding: chunked',
  '',
];
const LINE_ENDS = ['\r\n', '\r\n', '\r\n', '\r\n', '\r\n', '\r\n', '\n', '\r', '\r\r\n', ''];
const JSON_BODIES = [
  '{"action":"kill"}',
  '{"action":"pause"}',
  '{"action":"mode","mode":"fast"}',
  '{',
  '[]',
  'null',
  '"x"',
  '[['.repeat(1000),
];
/** Each is valid, and some are for peers that mean harm. */
const CHUNKED = [
  '0\r\n\r\n',
  '5\r\nhello\r\n0\r\n\r\n',
  '1;a=b\r\nx\r\n0\r\nTrailer: y\r\n\r\n',
  'fffffffffffffffff\r\n',
  '-1\r\n',
  '5\r\nhel',
  `1;${'x'.repeat(20_000)}\r\n`,
  '1000\r\n',
];

const HEADERS: readonly ((m: Mutator) => string)[] = [
  (m) => `Content-Length: ${m.pick(LENGTHS)}`,
  (m) => `Transfer-Encoding: ${m.pick(ENCODINGS)}`,
  (m) => `Expect: ${m.pick(['100-continue', '100-Continue', '200', 'x', ''])}`,
  (m) => `Connection: ${m.pick(['keep-alive', 'close', 'upgrade', 'Transfer-Encoding', ''])}`,
  (m) => `Upgrade: ${m.pick(['websocket', 'h2c', 'TLS/1.0', ''])}`,
  (m) => `Authorization: Bearer ${m.pick(['x', '', 'é', 'a'.repeat(5000)])}`,
  (m) => `Origin: ${m.pick(['http://localhost', 'null', '://', 'http://['])}`,
  (m) => `Sec-Fetch-Site: ${m.pick(['same-origin', 'cross-site'])}`,
  (m) => `Host: ${m.pick(['localhost', '', '[', 'a,b', 'x'.repeat(500)])}`,
  () => 'Folded: a\r\n b\r\n\tc',
  () => 'no colon',
  () => ': no name',
  () => 'Space : x',
  () => 'Nul: a\0b',
  () => '__proto__: x',
  () => 'Range: bytes=0-18446744073709551616',
];

/** More than a head may have; rarely, for they take the time of fifty others. */
const LARGE: readonly string[] = [
  `Cookie: ${'a'.repeat(20_000)}`,
  Array.from({ length: 300 }, (_, i) => `H${i}: `).join('\r\n'),
  Array.from({ length: 3000 }, (_, i) => `H${i}:`).join('\r\n'),
];

/**
 * A request, most of the time nearly a valid one. `own`: host and port of the server, which some
 * ask for by name.
 */
function request(m: Mutator, own: string, bearer: string | null): string {
  const method = m.chance(0.6) ? 'GET' : m.pick(METHODS);
  const target = m.chance(0.4) ? m.pick(TARGETS.slice(0, 3)) : m.pick(TARGETS);
  const version = m.chance(0.8) ? 'HTTP/1.1' : m.pick(VERSIONS);
  const end = m.chance(0.9) ? '\r\n' : m.pick(LINE_ENDS);
  const lines = [`${method} ${target} ${version}`];
  if (m.chance(0.95)) lines.push(`Host: ${own}`);
  if (bearer !== null && m.chance(0.3)) lines.push(`Authorization: Bearer ${bearer}`);
  for (let i = m.chance(0.4) ? 0 : 1 + m.random.below(4); i > 0; i--)
    lines.push(m.pick(HEADERS)(m));
  if (m.chance(0.01)) lines.push(m.pick(LARGE));
  let body = '';
  if (m.chance(0.3)) {
    body = m.chance(0.5) ? m.pick(JSON_BODIES) : m.pick(CHUNKED);
    if (m.chance(0.7))
      lines.push(
        body.startsWith('{') ? `Content-Length: ${body.length}` : 'Transfer-Encoding: chunked',
      );
    if (m.chance(0.005)) body += 'x'.repeat(200_000);
  }
  return lines.join(end) + end + end + body;
}

/**
 * Valid ones, which keep the connection and so bring what follows before a server in the middle of
 * its work.
 */
function before(m: Mutator, own: string): string {
  if (m.chance(0.5)) return '';
  const paths = [
    '/livez',
    '/readyz',
    '/readyz?verbose',
    '/none',
    '/api/token',
    '//',
    ...(m.chance(0.2) ? ['/metrics'] : []),
  ];
  const one = (): string =>
    `${m.pick(['GET', 'HEAD'])} ${m.pick(paths)} HTTP/1.1\r\nHost: ${own}\r\n\r\n`;
  return Array.from({ length: 1 + m.random.below(m.pick([3, 40, 110])) }, one).join('');
}

/**
 * What one peer sends: one request or several, whole, damaged, cut off, in pieces, at once or
 * slowly.
 */
export function makeExchange(m: Mutator, own: string, bearer: string | null): Exchange {
  const one = request(m, own, bearer);
  const ahead = m.chance(0.08) ? m.pick([1, 2, 5, 30, 150]) : 0;
  let text = one.length < 4000 ? one.repeat(1 + ahead) : one;
  if (m.chance(0.05)) text += request(m, own, bearer);
  if (m.chance(0.25)) text = Buffer.from(m.bytes(Buffer.from(text, 'latin1'))).toString('latin1');
  if (m.chance(0.05)) text = text.slice(0, m.random.below(text.length + 1));
  if (m.chance(0.01))
    text = Buffer.from(
      Array.from({ length: 1 + m.random.below(300) }, () => m.random.below(256)),
    ).toString('latin1');
  text = before(m, own) + text;
  const pieces: string[] = [];
  let from = 0;
  for (let cuts = m.chance(0.8) ? 0 : 1 + m.random.below(4); cuts > 0; cuts--) {
    const until = from + m.random.below(text.length - from + 1);
    if (until > from) pieces.push(text.slice(from, until));
    from = until;
  }
  pieces.push(text.slice(from));
  const kind = m.random.next();
  return {
    pieces,
    pauseMillis: m.chance(0.02) ? 1 + m.random.below(20) : 0,
    end: kind < 0.85 ? 'answer' : kind < 0.95 ? 'half_close' : kind < 0.9995 ? 'reset' : 'wait',
  };
}
