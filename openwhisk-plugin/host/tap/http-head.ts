import type { RequestKind } from '../ports/index.js';

/** A request's head, as far as it could be read. */
export interface RequestHead {
  kind: RequestKind;
  /** Bytes up to and with the empty line; 0 if the head is cut off or not well formed. */
  length: number;
  /** `Content-Length` of the head, -1 if it has none. */
  contentLength: number;
  /** The next head's place follows from this one: no coding, at most one Content-Length. */
  measurable: boolean;
}

/** Strictly RFC 9112 §3 and §5: CRLF only, no folded lines, no blank before a colon. */
const REQUEST_LINE = /POST ([\x21-\x7e]+) HTTP\/1\.\d\r\n/y;
const HEADER_LINE = /([\x21-\x39\x3b-\x7e]+):([^\r\n\0]*)\r\n/y;
/** 15 digits stay exact in a double. */
const CONTENT_LENGTH = /^[ \t]*(\d{1,15})[ \t]*$/;
const STATUS_LINE = /^HTTP\/1\.\d ([1-9]\d\d)(?!\d)/;

/** Bytes as text, one character each. Cheap: the tap captures at most 2 KiB of a packet. */
export const latin1 = (bytes: Buffer, start: number, end: number): string =>
  bytes.toString('latin1', start, end);

/** The match of a sticky expression at this place; null if there is none. */
export function matchAt(expression: RegExp, text: string, at: number): RegExpExecArray | null {
  expression.lastIndex = at;
  return expression.exec(text);
}

/** Reads `POST path HTTP/1.x` and its header lines to the empty line. */
export function readRequestHead(bytes: Buffer, start: number, end: number): RequestHead {
  const text = latin1(bytes, start, end);
  const head: RequestHead = { kind: 'other', length: 0, contentLength: -1, measurable: false };
  const line = matchAt(REQUEST_LINE, text, 0);
  if (line === null) return head;
  if (line[1] === '/run') head.kind = 'run';
  else if (line[1] === '/init') head.kind = 'init';
  let isCoded = false;
  let lengths = 0;
  let at = line[0].length;
  while (!text.startsWith('\r\n', at)) {
    const header = matchAt(HEADER_LINE, text, at);
    if (header === null) return head;
    at += header[0].length;
    const name = header[1]!.toLowerCase();
    if (name === 'transfer-encoding') isCoded = true;
    if (name !== 'content-length') continue;
    const digits = CONTENT_LENGTH.exec(header[2]!)?.[1];
    head.contentLength = Number(digits ?? -1);
    if (digits === undefined) return head;
    lengths++;
  }
  if (lengths > 1) head.contentLength = -1;
  head.length = at + 2;
  head.measurable = !isCoded && lengths <= 1;
  return head;
}

/** Status of an answer's first line (`HTTP/1.1 200…`), or -1 if it cannot be read. */
export function readStatus(bytes: Buffer, start: number, end: number): number {
  const line = STATUS_LINE.exec(latin1(bytes, start, Math.min(end, start + 13)));
  return Number(line?.[1] ?? -1);
}

/** Length of a head up to and with its empty line, or -1 if that is missing. */
export function headLength(bytes: Buffer, start: number, end: number): number {
  const found = bytes.indexOf('\r\n\r\n', start, 'latin1') + 4;
  return found >= start + 4 && found <= end ? found - start : -1;
}
