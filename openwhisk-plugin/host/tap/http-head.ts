import type { RequestKind } from '../ports/index.js';

/** A request's head, refilled by {@link readRequestHead}. */
export class RequestHead {
  kind: RequestKind = 'other';
  /** Bytes up to and with the empty line; 0 where the head is not whole. */
  length = 0;
  /** `Content-Length` of the head, -1 if it has none. */
  contentLength = -1;
  /**
   * True only where the next head's place follows from this one: no coding, at most one
   * Content-Length.
   */
  measurable = false;
}

const CR = 13;
const LF = 10;
const SPACE = 32;
const TAB = 9;
const COLON = 58;

const ascii = (text: string): Uint8Array => Uint8Array.from(text, (letter) => letter.charCodeAt(0));
const POST = ascii('POST ');
const INIT = ascii('/init');
const RUN = ascii('/run');
const VERSION = ascii('HTTP/1.');
const CONTENT_LENGTH = ascii('content-length');
const TRANSFER_ENCODING = ascii('transfer-encoding');

/**
 * Reads `POST path HTTP/1.x` and its header lines from `start` to the empty line (RFC 9112 §3, §5,
 * strictly: CRLF only, no folded lines, no blank before a colon). False where it is not whole or
 * not such a head; `kind` is then set if its line was.
 */
export function readRequestHead(
  bytes: Uint8Array,
  start: number,
  end: number,
  into: RequestHead,
): boolean {
  into.kind = 'other';
  into.length = 0;
  into.contentLength = -1;
  into.measurable = false;
  if (!startsWith(bytes, start, end, POST)) return false;
  const path = start + POST.length;
  let cursor = path;
  while (cursor < end && bytes[cursor]! > SPACE && bytes[cursor]! < 127) cursor++;
  if (cursor === path || bytes[cursor] !== SPACE || cursor >= end) return false;
  const pathEnd = cursor;
  cursor++;
  if (!startsWith(bytes, cursor, end, VERSION)) return false;
  cursor += VERSION.length + 1;
  if (
    cursor + 2 > end ||
    !isDigit(bytes[cursor - 1]!) ||
    bytes[cursor] !== CR ||
    bytes[cursor + 1] !== LF
  )
    return false;
  cursor += 2;
  into.kind = is(bytes, path, pathEnd, RUN)
    ? 'run'
    : is(bytes, path, pathEnd, INIT)
      ? 'init'
      : 'other';
  return readHeaders(bytes, start, cursor, end, into);
}

function readHeaders(
  bytes: Uint8Array,
  start: number,
  from: number,
  end: number,
  into: RequestHead,
): boolean {
  let cursor = from;
  let coded = false;
  let repeated = false;
  for (;;) {
    const line = cursor;
    if (line + 2 > end) return false;
    if (bytes[line] === CR && bytes[line + 1] === LF) {
      into.length = line + 2 - start;
      into.measurable = !coded && !repeated;
      if (repeated) into.contentLength = -1;
      return true;
    }
    while (
      cursor < end &&
      bytes[cursor] !== COLON &&
      bytes[cursor]! > SPACE &&
      bytes[cursor]! < 127
    )
      cursor++;
    if (cursor === line || cursor >= end || bytes[cursor] !== COLON) return false;
    const nameEnd = cursor;
    while (cursor < end && bytes[cursor] !== CR && bytes[cursor] !== LF && bytes[cursor] !== 0)
      cursor++;
    if (cursor + 1 >= end || bytes[cursor] !== CR || bytes[cursor + 1] !== LF) return false;
    if (isIgnoringCase(bytes, line, nameEnd, CONTENT_LENGTH)) {
      if (into.contentLength >= 0) repeated = true;
      into.contentLength = readNumber(bytes, nameEnd + 1, cursor);
      if (into.contentLength < 0) return false;
    } else if (isIgnoringCase(bytes, line, nameEnd, TRANSFER_ENCODING)) {
      coded = true;
    }
    cursor += 2;
  }
}

/** Status of an answer's first line (`HTTP/1.1 200…`), or -1 where it cannot be read. */
export function readStatus(bytes: Uint8Array, start: number, end: number): number {
  if (start + 12 > end || !startsWith(bytes, start, end, VERSION)) return -1;
  const status = start + 9;
  if (!isDigit(bytes[start + 7]!) || bytes[status - 1] !== SPACE) return -1;
  let value = 0;
  for (let i = status; i < status + 3; i++) {
    if (!isDigit(bytes[i]!)) return -1;
    value = value * 10 + bytes[i]! - 48;
  }
  return value >= 100 && !(start + 12 < end && isDigit(bytes[start + 12]!)) ? value : -1;
}

/** Length of a head up to and with its empty line, or -1 where that is not there. */
export function headLength(bytes: Uint8Array, start: number, end: number): number {
  for (let i = start; i + 4 <= end; i++) {
    if (bytes[i] === CR && bytes[i + 1] === LF && bytes[i + 2] === CR && bytes[i + 3] === LF)
      return i + 4 - start;
  }
  return -1;
}

function readNumber(bytes: Uint8Array, from: number, to: number): number {
  let start = from;
  let end = to;
  while (start < end && (bytes[start] === SPACE || bytes[start] === TAB)) start++;
  while (end > start && (bytes[end - 1] === SPACE || bytes[end - 1] === TAB)) end--;
  // 15 digits stay exact in a double.
  if (start === end || end - start > 15) return -1;
  let value = 0;
  for (let i = start; i < end; i++) {
    if (!isDigit(bytes[i]!)) return -1;
    value = value * 10 + bytes[i]! - 48;
  }
  return value;
}

function isDigit(byte: number): boolean {
  return byte >= 48 && byte <= 57;
}

function startsWith(bytes: Uint8Array, start: number, end: number, text: Uint8Array): boolean {
  if (start + text.length > end) return false;
  for (let i = 0; i < text.length; i++) if (bytes[start + i] !== text[i]) return false;
  return true;
}

function is(bytes: Uint8Array, start: number, end: number, text: Uint8Array): boolean {
  return end - start === text.length && startsWith(bytes, start, end, text);
}

function isIgnoringCase(bytes: Uint8Array, start: number, end: number, lower: Uint8Array): boolean {
  if (end - start !== lower.length) return false;
  for (let i = 0; i < lower.length; i++) {
    const byte = bytes[start + i]!;
    if ((byte >= 65 && byte <= 90 ? byte + 32 : byte) !== lower[i]) return false;
  }
  return true;
}
