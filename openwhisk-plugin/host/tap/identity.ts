import type { Micros } from '../../../config/index.js';
import type { Identity } from '../ports/index.js';
import { latin1, matchAt } from './http-head.js';

/** The text of a JSON string, between its quotes. */
const TEXT = String.raw`(?:[ !#-[\]-\xff]|\\.)*`;
/** A key and a string. */
const PAIR = new RegExp(`"(${TEXT})":"(${TEXT})"`, 'sy');
/** The beginning of a pair, of which the captured bytes lack the end. */
const CUT_PAIR = new RegExp(`(?:"${TEXT}(?:\\\\?|"(?::(?:"${TEXT}\\\\?)?)?))?$`, 'sy');
/** A key of `/init`, and a string, a number, a literal, or the brace of an object. */
const INIT_ENTRY = new RegExp(`"(${TEXT})":("${TEXT}"|\\{|[^",{}]+)`, 'sy');
const INIT_START = '{"value":{';

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
  const body = latin1(bytes, start, end);
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
