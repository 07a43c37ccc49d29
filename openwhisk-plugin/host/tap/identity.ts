import type { Micros } from '../../../config/index.js';
import type { Identity } from '../ports/index.js';
import { isDigit, latin1, readDigits, startsWith } from './http-head.js';

/** The text of a JSON string, between its quotes. */
const TEXT = String.raw`(?:[ !#-[\]-\xff]|\\.)*`;
/** A key and a string. */
const PAIR = new RegExp(`"(${TEXT})":"(${TEXT})"`, 'sy');
/** The beginning of a pair, of which the captured bytes lack the end. */
const CUT_PAIR = new RegExp(`(?:"${TEXT}(?:\\\\?|"(?::(?:"${TEXT}\\\\?)?)?))?$`, 'sy');
/** A key of `/init`, and a string, a number, a literal, or the brace of an object. */
const INIT_ENTRY = new RegExp(`"(${TEXT})":("${TEXT}"|\\{|[^",{}]+)`, 'sy');
const INIT_START = '{"value":{';

/** The match of a sticky expression at this place; null if there is none. */
function matchAt(expression: RegExp, text: string, at: number): RegExpExecArray | null {
  expression.lastIndex = at;
  return expression.exec(text);
}

/** `/namespace/[package/]action`, each part up to the 256 characters that OpenWhisk allows. */
const ACTION = /^(\/[^/\p{Cc}\p{Cs}]{1,256}){2,3}$/u;
const VERSION = /^[0-9A-Za-z.+-]{1,64}$/;
const ACTIVATION = /^[0-9A-Za-z-]{1,64}$/;
const MILLISECONDS = /^\d{1,13}$/;

/**
 * Reads the identity from the start of a `/run` body, `{"action_name":"/guest/plain",…`. All keys
 * before `value` are the invoker's and sorted; `value` is the user's, and reading stops there.
 *
 * Null ("unknown") for everything else: another first key, keys out of order or repeated, blanks,
 * values that are not strings, a name OpenWhisk would not allow, or bytes that end before
 * `deadline` is whole. What the snapshot cuts off after `deadline` cannot change the identity.
 */
export function readIdentity(bytes: Buffer, start: number, end: number): Identity | null {
  return readPlainIdentity(bytes, start, end) ?? readAnyIdentity(latin1(bytes, start, end));
}

const START = Buffer.from('{"action_name":"', 'latin1');
const ACTION_NAME = Buffer.from('action_name', 'latin1');
const ACTION_VERSION = Buffer.from('action_version', 'latin1');
const ACTIVATION_ID = Buffer.from('activation_id', 'latin1');
const DEADLINE = Buffer.from('deadline', 'latin1');
const VALUE = Buffer.from('value', 'latin1');
const QUOTE = 34;
const COMMA = 44;
const SLASH = 47;
const COLON = 58;
const BACKSLASH = 92;
const LONGEST_PART = 256;
const LONGEST_TOKEN = 64;
const DEADLINE_DIGITS = 13;

/**
 * The usual body, byte by byte, at a tenth of the price: every string is plain ASCII, and all are
 * whole up to `value`. Null: another body, which may have an identity too.
 */
function readPlainIdentity(bytes: Buffer, start: number, end: number): Identity | null {
  if (!startsWith(bytes, start, end, START)) return null;
  let action = '';
  let version = '';
  let activationId = '';
  let deadline = 0;
  let [before, beforeEnd] = [start, start];
  let at = start;
  for (;;) {
    const key = at + 2;
    const keyEnd = bytes[at + 1] === QUOTE ? plainEnd(bytes, key, end) : -1;
    if (keyEnd < 0 || keyEnd + 2 >= end || bytes[keyEnd + 1] !== COLON) return null;
    if (!isAfter(bytes, before, beforeEnd, key, keyEnd)) return null;
    if (isText(bytes, key, keyEnd, VALUE)) break;
    const from = keyEnd + 3;
    const to = bytes[keyEnd + 2] === QUOTE ? plainEnd(bytes, from, end) : -1;
    if (to < 0 || to + 1 >= end || bytes[to + 1] !== COMMA) return null;
    if (isText(bytes, key, keyEnd, ACTION_NAME)) {
      if (!isAction(bytes, from, to)) return null;
      action = latin1(bytes, from, to);
    } else if (isText(bytes, key, keyEnd, ACTION_VERSION)) {
      if (!isToken(bytes, from, to, true)) return null;
      version = latin1(bytes, from, to);
    } else if (isText(bytes, key, keyEnd, ACTIVATION_ID)) {
      if (!isToken(bytes, from, to, false)) return null;
      activationId = latin1(bytes, from, to);
    } else if (isText(bytes, key, keyEnd, DEADLINE)) {
      deadline = readDigits(bytes, from, to, DEADLINE_DIGITS);
      if (deadline < 0) return null;
    }
    before = key;
    beforeEnd = keyEnd;
    at = to + 1;
  }
  if (version === '' || activationId === '') return null;
  return { action, version, activationId, deadline: (deadline * 1000) as Micros };
}

/** Where the quote is that ends a string of plain ASCII without escapes; -1 if it is another. */
function plainEnd(bytes: Buffer, from: number, end: number): number {
  for (let at = from; at < end; at++) {
    const byte = bytes[at]!;
    if (byte === QUOTE) return at;
    if (byte < 32 || byte > 126 || byte === BACKSLASH) return -1;
  }
  return -1;
}

function isText(bytes: Buffer, start: number, end: number, text: Buffer): boolean {
  return end - start === text.length && startsWith(bytes, start, end, text);
}

/** Whether the second key is greater than the first. */
function isAfter(bytes: Buffer, a: number, aEnd: number, b: number, bEnd: number): boolean {
  for (let i = 0; a + i < aEnd && b + i < bEnd; i++) {
    const difference = bytes[b + i]! - bytes[a + i]!;
    if (difference !== 0) return difference > 0;
  }
  return bEnd - b > aEnd - a;
}

/** As {@link ACTION}, of plain ASCII. */
function isAction(bytes: Buffer, start: number, end: number): boolean {
  let parts = 0;
  let length = 1;
  for (let at = start; at < end; at++) {
    if (bytes[at] !== SLASH) {
      if (++length > LONGEST_PART) return false;
      continue;
    }
    if (length === 0) return false;
    parts++;
    length = 0;
  }
  return bytes[start] === SLASH && length > 0 && parts >= 2 && parts <= 3;
}

/** As {@link ACTIVATION}, and with `.` and `+` as {@link VERSION}. */
function isToken(bytes: Buffer, start: number, end: number, isVersion: boolean): boolean {
  if (end === start || end - start > LONGEST_TOKEN) return false;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    const isLetter = (byte | 32) >= 97 && (byte | 32) <= 122;
    const isSign = byte === 45 || (isVersion && (byte === 46 || byte === 43));
    if (!isDigit(byte) && !isLetter && !isSign) return false;
  }
  return true;
}

function readAnyIdentity(body: string): Identity | null {
  if (!body.startsWith('{"action_name":"')) return null;
  const fields = new Map<string, string>();
  let previous = '';
  for (let at = 1; ; at++) {
    if (body.startsWith('"value":', at) && previous < 'value') {
      if (!fields.has('deadline')) fields.set('deadline', '0');
      break;
    }
    const pair = matchAt(PAIR, body, at);
    if (pair === null) {
      if (matchAt(CUT_PAIR, body, at) === null) return null;
      break;
    }
    const [whole, key, value] = pair as unknown as [string, string, string];
    if (key.includes('\\') || key <= previous) return null;
    fields.set(key, value);
    previous = key;
    at += whole.length;
    if (at >= body.length) break;
    if (body[at] !== ',') return null;
  }
  return identityOf(
    fields.get('action_name'),
    fields.get('action_version'),
    fields.get('activation_id'),
    fields.get('deadline'),
  );
}

/** The data of an `/init` body. */
export interface InitBody {
  /** The action's own name, without namespace and package; null if it cannot be read. */
  name: string | null;
  /** Null if the body was not captured completely, or has no identity. */
  identity: Identity | null;
}

/**
 * Reads the identity of an activation whose action is initialized:
 * `{"value":{"name":"plain","binary":false,"main":"main","code":"…","env":{"__OW_ACTION_NAME":…}}}`
 * (OpenWhisk's `ExecutableWhiskAction.containerInitializer`). The name comes first. The environment
 * is behind the code, so it is read only if `isWhole`: the bytes are all of the body. Every string
 * is the invoker's or escaped by it, so a user's code or parameter cannot pass for a key.
 */
export function readInit(bytes: Buffer, start: number, end: number, isWhole: boolean): InitBody {
  const body = latin1(bytes, start, end);
  const found: InitBody = { name: null, identity: null };
  if (!body.startsWith(INIT_START)) return found;
  for (let at = INIT_START.length; ; at++) {
    const entry = matchAt(INIT_ENTRY, body, at);
    if (entry === null) return found;
    const [whole, key, value] = entry as unknown as [string, string, string];
    at += whole.length;
    if (value === '{') {
      if (isWhole && key === 'env') found.identity = readEnvironment(body, at);
      return found;
    }
    if (key === 'name' && value.startsWith('"')) found.name = decoded(value.slice(1, -1));
    if (body[at] !== ',') return found;
  }
}

/** One flat object of strings that ends the body: `"env":{…}}}`. */
function readEnvironment(body: string, from: number): Identity | null {
  const fields = new Map<string, string>();
  let at = from;
  for (; ; at++) {
    const pair = matchAt(PAIR, body, at);
    if (pair === null) return null;
    fields.set(pair[1]!, pair[2]!);
    at += pair[0].length;
    if (body[at] !== ',') break;
  }
  if (body.slice(at) !== '}}}') return null;
  return identityOf(
    fields.get('__OW_ACTION_NAME'),
    fields.get('__OW_ACTION_VERSION'),
    fields.get('__OW_ACTIVATION_ID'),
    fields.get('__OW_DEADLINE') ?? '0',
  );
}

/** From JSON strings without their quotes; undefined: missing. */
function identityOf(...fields: readonly (string | undefined)[]): Identity | null {
  const [action, version, activationId, deadline] = fields.map((field) => decoded(field));
  if (action == null || version == null || activationId == null || deadline == null) return null;
  if (!ACTION.test(action) || !VERSION.test(version) || !ACTIVATION.test(activationId)) return null;
  if (!MILLISECONDS.test(deadline)) return null;
  return { action, version, activationId, deadline: (Number(deadline) * 1000) as Micros };
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * The text of a JSON string whose bytes are given; null if it is not valid UTF-8 or JSON. A copy,
 * since a substring would keep the user's whole body in memory.
 */
function decoded(text: string | undefined): string | null {
  if (text === undefined) return null;
  const bytes = Buffer.from(text, 'latin1');
  if (/^[ -[\]-\x7f]*$/.test(text)) return bytes.toString('latin1');
  try {
    const value: unknown = JSON.parse(`"${utf8.decode(bytes)}"`);
    return typeof value === 'string' ? value : null;
  } catch {
    return null;
  }
}
