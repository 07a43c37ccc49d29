import { errorClass } from '../config/index.js';

/**
 * A fully qualified action name as one NATS token, and back.
 *
 * OpenWhisk allows spaces, `@`, `.`, `&` in names; NATS subjects and keys do not, and a client
 * silently sends such a subject to another one. Base64url has none of them and is reversible. Every
 * name begins with `/`, so every token begins with `L` and never equals {@link NO_FUNCTION}.
 */
export type FunctionToken = string & { readonly __token: 'function' };

/** The token of a subject that concerns no function, such as an event of a whole host. */
export const NO_FUNCTION = '_';

/** One segment of a name, at most 256 characters [OpenWhisk EntityName.scala]. */
const SEGMENT = /^(?:\w|\w[\w@ .&-]{0,254}[\w@.&-])$/;
/** Three segments of 256 and three slashes. */
export const FUNCTION_NAME_MAX = 771;
const TOKEN = /^L[A-Za-z0-9_-]+$/;

export class FunctionNameError extends errorClass('GLN_FUNCTION_NAME') {
  constructor(name: string) {
    super(name.slice(0, 80));
  }
}

/** True for `/namespace/action` and `/namespace/package/action` as OpenWhisk allows them. */
export function isFunctionName(name: string): boolean {
  if (name.length > FUNCTION_NAME_MAX || name.charCodeAt(0) !== 47) return false;
  const parts = name.split('/');
  if (parts.length < 3 || parts.length > 4) return false;
  for (let i = 1; i < parts.length; i++) if (!SEGMENT.test(parts[i]!)) return false;
  return true;
}

/** Throws {@link FunctionNameError} for a name that OpenWhisk does not allow. */
export function functionToken(name: string): FunctionToken {
  if (!isFunctionName(name)) throw new FunctionNameError(name);
  return Buffer.from(name, 'utf8').toString('base64url') as FunctionToken;
}

/** The name of a token, or null if {@link functionToken} did not make it. */
export function functionName(token: string): string | null {
  if (token.length > 1028 || !TOKEN.test(token)) return null;
  const name = Buffer.from(token, 'base64url').toString('utf8');
  // Decoding ignores stray bits, so that one function could have two tokens: compare the encoding.
  return isFunctionName(name) && Buffer.from(name, 'utf8').toString('base64url') === token
    ? name
    : null;
}
