import type { Micros } from '../../config/index.js';
import type { Identity } from '../ports/index.js';

const QUOTE = 34;
const BACKSLASH = 92;
const COLON = 58;
const COMMA = 44;
const BRACE = 123;

const ascii = (text: string): Uint8Array => Uint8Array.from(text, (letter) => letter.charCodeAt(0));
const ACTION_NAME = ascii('action_name');
const ACTION_VERSION = ascii('action_version');
const ACTIVATION_ID = ascii('activation_id');
const DEADLINE = ascii('deadline');
const VALUE = ascii('value');

/** `/namespace/action` or `/namespace/package/action`, each part up to the 256 characters OpenWhisk allows. */
const ACTION = /^(\/[^/\p{Cc}\p{Cs}]{1,256}){2,3}$/u;
const VERSION = /^[0-9A-Za-z.+-]{1,64}$/;
const ACTIVATION = /^[0-9A-Za-z-]{1,64}$/;

/**
 * Reads who is called from the start of a `/run` body, `{"action_name":"/guest/plain","action_version":…` (design §2,
 * openwhisk-observed.md §3). All keys before `value` are the invoker's and sorted; `value` is the user's, and reading stops there.
 *
 * Null ("unknown") for everything else: another first key, keys out of order or repeated, blanks, values that are not strings, a
 * name OpenWhisk would not allow, or bytes that end before `deadline` is whole. What the snapshot cuts off after `deadline` cannot
 * change who is called.
 */
export function readIdentity(bytes: Uint8Array, start: number, end: number): Identity | null {
  if (start >= end || bytes[start] !== BRACE) return null;
  let cursor = start + 1;
  let previous = -1;
  let previousEnd = -1;
  let action: string | null = null;
  let version: string | null = null;
  let activationId: string | null = null;
  let deadline = -1;
  for (;;) {
    const key = cursor + 1;
    const keyEnd = bytes[cursor] === QUOTE ? stringEnd(bytes, key, end) : -1;
    if (keyEnd < 0) {
      // Cut off; whoever is called has been read by then, or has not.
      if (!isCut(bytes, cursor, end)) return null;
      break;
    }
    if (keyEnd + 1 >= end) break;
    if (bytes[keyEnd + 1] !== COLON) return null;
    if (hasBackslash(bytes, key, keyEnd)) return null;
    if (previous >= 0 && compare(bytes, previous, previousEnd, key, keyEnd) >= 0) return null;
    if (same(bytes, key, keyEnd, VALUE)) {
      if (deadline < 0) deadline = 0;
      break;
    }
    previous = key;
    previousEnd = keyEnd;
    const value = keyEnd + 3;
    if (value > end) break;
    if (bytes[value - 1] !== QUOTE) return null;
    const valueEnd = stringEnd(bytes, value, end);
    if (valueEnd < 0) {
      if (!isCut(bytes, value - 1, end)) return null;
      break;
    }
    if (action === null) {
      if (!same(bytes, key, keyEnd, ACTION_NAME)) return null;
      action = text(bytes, value, valueEnd);
      if (action === null || !ACTION.test(action)) return null;
    } else if (same(bytes, key, keyEnd, ACTION_VERSION)) {
      version = text(bytes, value, valueEnd);
    } else if (same(bytes, key, keyEnd, ACTIVATION_ID)) {
      activationId = text(bytes, value, valueEnd);
    } else if (same(bytes, key, keyEnd, DEADLINE)) {
      deadline = millisAsMicros(bytes, value, valueEnd);
      if (deadline < 0) return null;
    }
    cursor = valueEnd + 1;
    if (cursor >= end) break;
    if (bytes[cursor] !== COMMA) return null;
    cursor++;
  }
  if (action === null || version === null || activationId === null || deadline < 0) return null;
  if (!VERSION.test(version) || !ACTIVATION.test(activationId)) return null;
  return { action, version, activationId, deadline: deadline as Micros };
}

/** Index of the closing quote; -1 where there is none before `end` or where a control character stands in between. */
function stringEnd(bytes: Uint8Array, start: number, end: number): number {
  for (let i = start; i < end; i++) {
    const byte = bytes[i]!;
    if (byte === QUOTE) return i;
    if (byte === BACKSLASH) i++;
    else if (byte < 32) return -1;
  }
  return -1;
}

/** True where the string that begins at `quote` (or nothing at all) is merely cut off by `end`. */
function isCut(bytes: Uint8Array, quote: number, end: number): boolean {
  if (quote >= end) return true;
  if (bytes[quote] !== QUOTE) return false;
  for (let i = quote + 1; i < end; i++) if (bytes[i]! < 32) return false;
  return true;
}

function hasBackslash(bytes: Uint8Array, start: number, end: number): boolean {
  for (let i = start; i < end; i++) if (bytes[i] === BACKSLASH) return true;
  return false;
}

function same(bytes: Uint8Array, start: number, end: number, name: Uint8Array): boolean {
  if (end - start !== name.length) return false;
  for (let i = 0; i < name.length; i++) if (bytes[start + i] !== name[i]) return false;
  return true;
}

function compare(bytes: Uint8Array, a: number, aEnd: number, b: number, bEnd: number): number {
  const length = Math.min(aEnd - a, bEnd - b);
  for (let i = 0; i < length; i++) {
    const difference = bytes[a + i]! - bytes[b + i]!;
    if (difference !== 0) return difference;
  }
  return aEnd - a - (bEnd - b);
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function text(bytes: Uint8Array, start: number, end: number): string | null {
  let plain = true;
  for (let i = start; i < end && plain; i++) plain = bytes[i]! < 128 && bytes[i] !== BACKSLASH;
  if (plain) return Buffer.prototype.latin1Slice.call(bytes, start, end);
  try {
    const decoded = utf8.decode(bytes.subarray(start, end));
    const value: unknown = JSON.parse(`"${decoded}"`);
    return typeof value === 'string' ? value : null;
  } catch {
    return null;
  }
}

function millisAsMicros(bytes: Uint8Array, start: number, end: number): number {
  if (start === end || end - start > 13) return -1;
  let value = 0;
  for (let i = start; i < end; i++) {
    const digit = bytes[i]! - 48;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  return value * 1000;
}
