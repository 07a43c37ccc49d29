import type { Micros } from '../../../config/index.js';
import type { Identity } from '../ports/index.js';
import {
  ascii,
  BACKSLASH,
  BRACE,
  CLOSING_BRACE,
  COLON,
  COMMA,
  millisAsMicros,
  QUOTE,
  same,
  stringEnd,
  text,
} from './json-text.js';

const ACTION_NAME = ascii('action_name');
const ACTION_VERSION = ascii('action_version');
const ACTIVATION_ID = ascii('activation_id');
const DEADLINE = ascii('deadline');
const VALUE = ascii('value');
const INIT = ascii('{"value":{');
const NAME = ascii('name');
const ENV = ascii('env');
const ENV_ACTION_NAME = ascii('__OW_ACTION_NAME');
const ENV_ACTION_VERSION = ascii('__OW_ACTION_VERSION');
const ENV_ACTIVATION_ID = ascii('__OW_ACTIVATION_ID');
const ENV_DEADLINE = ascii('__OW_DEADLINE');

/**
 * `/namespace/action` or `/namespace/package/action`, each part up to the 256 characters OpenWhisk
 * allows.
 */
const ACTION = /^(\/[^/\p{Cc}\p{Cs}]{1,256}){2,3}$/u;
const VERSION = /^[0-9A-Za-z.+-]{1,64}$/;
const ACTIVATION = /^[0-9A-Za-z-]{1,64}$/;

/**
 * Reads who is called from the start of a `/run` body,
 * `{"action_name":"/guest/plain","action_version":…`. All
 * keys before `value` are the invoker's and sorted; `value` is the user's, and reading stops there.
 *
 * Null ("unknown") for everything else: another first key, keys out of order or repeated, blanks,
 * values that are not strings, a name OpenWhisk would not allow, or bytes that end before
 * `deadline` is whole. What the snapshot cuts off after `deadline` cannot change who is called.
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
      // Cut off; the action's name has been read by then, or not.
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
  return identityOf(action, version, activationId, deadline);
}

function identityOf(
  action: string | null,
  version: string | null,
  activationId: string | null,
  deadline: number,
): Identity | null {
  if (action === null || version === null || activationId === null || deadline < 0) return null;
  if (!ACTION.test(action) || !VERSION.test(version) || !ACTIVATION.test(activationId)) return null;
  return { action, version, activationId, deadline: deadline as Micros };
}

/** The data of an `/init` body, refilled by {@link readInit}. */
export interface InitBody {
  /** The action's own name, without namespace and package; null where it cannot be read. */
  name: string | null;
  /** Null if the body was not captured completely, or has no identity. */
  identity: Identity | null;
}

/**
 * Reads which action is initialized:
 * `{"value":{"name":"plain","binary":false,"main":"main","code":"…","env":{"__OW_ACTION_NAME":…}}}`
 * (OpenWhisk's `ExecutableWhiskAction.containerInitializer`). The name comes first. The
 * environment is behind the code, so it is read only if `whole`: the bytes from `start` to
 * `end` are all of the body. Every string is the invoker's or escaped by it, so a user's code or
 * parameter cannot pass for a key. Code is skipped in place and never copied.
 */
export function readInit(
  bytes: Uint8Array,
  start: number,
  end: number,
  whole: boolean,
  into: InitBody,
): void {
  into.name = null;
  into.identity = null;
  if (start + INIT.length > end || !same(bytes, start, start + INIT.length, INIT)) return;
  let cursor = start + INIT.length;
  for (;;) {
    const key = cursor + 1;
    const keyEnd = bytes[cursor] === QUOTE ? stringEnd(bytes, key, end) : -1;
    if (keyEnd < 0 || keyEnd + 2 >= end || bytes[keyEnd + 1] !== COLON) return;
    const value = keyEnd + 2;
    if (bytes[value] === BRACE) {
      // The environment; anything else that is an object is not an `/init` of OpenWhisk.
      if (!same(bytes, key, keyEnd, ENV)) return;
      if (whole) into.identity = readEnvironment(bytes, value, end);
      return;
    }
    cursor = valueEnd(bytes, value, end);
    if (cursor < 0) return;
    if (bytes[value] === QUOTE && same(bytes, key, keyEnd, NAME))
      into.name = text(bytes, value + 1, cursor - 1);
    if (cursor >= end || bytes[cursor] !== COMMA) return;
    cursor++;
  }
}

/** One flat object of strings that ends the body: `"env":{…}}}`. */
function readEnvironment(bytes: Uint8Array, brace: number, end: number): Identity | null {
  let cursor = brace + 1;
  let action: string | null = null;
  let version: string | null = null;
  let activationId: string | null = null;
  let deadline = 0;
  for (;;) {
    const key = cursor + 1;
    const keyEnd = bytes[cursor] === QUOTE ? stringEnd(bytes, key, end) : -1;
    if (
      keyEnd < 0 ||
      keyEnd + 2 >= end ||
      bytes[keyEnd + 1] !== COLON ||
      bytes[keyEnd + 2] !== QUOTE
    )
      return null;
    const value = keyEnd + 3;
    const after = stringEnd(bytes, value, end);
    if (after < 0) return null;
    if (same(bytes, key, keyEnd, ENV_ACTION_NAME)) action = text(bytes, value, after);
    else if (same(bytes, key, keyEnd, ENV_ACTION_VERSION)) version = text(bytes, value, after);
    else if (same(bytes, key, keyEnd, ENV_ACTIVATION_ID)) activationId = text(bytes, value, after);
    else if (same(bytes, key, keyEnd, ENV_DEADLINE)) deadline = millisAsMicros(bytes, value, after);
    cursor = after + 1;
    if (bytes[cursor] !== COMMA) break;
    cursor++;
  }
  const closed =
    cursor + 3 === end && bytes.subarray(cursor, end).every((byte) => byte === CLOSING_BRACE);
  return closed ? identityOf(action, version, activationId, deadline) : null;
}

/** Index after a JSON string, number, `true`, `false` or `null`; -1 where it is cut off. */
function valueEnd(bytes: Uint8Array, value: number, end: number): number {
  if (bytes[value] === QUOTE) {
    const close = stringEnd(bytes, value + 1, end);
    return close < 0 ? -1 : close + 1;
  }
  let cursor = value;
  while (cursor < end && bytes[cursor] !== COMMA && bytes[cursor] !== CLOSING_BRACE) cursor++;
  return cursor < end ? cursor : -1;
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

function compare(bytes: Uint8Array, a: number, aEnd: number, b: number, bEnd: number): number {
  const length = Math.min(aEnd - a, bEnd - b);
  for (let i = 0; i < length; i++) {
    const difference = bytes[a + i]! - bytes[b + i]!;
    if (difference !== 0) return difference;
  }
  return aEnd - a - (bEnd - b);
}
