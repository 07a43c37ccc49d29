import { errorClass } from '../config/index.js';

/**
 * A fully qualified action name as one NATS token, and back.
 *
 * OpenWhisk allows spaces, `@`, `.`, `&` in names; NATS subjects and key-value keys do not, and a
 * client silently sends such a subject elsewhere (field-notes A4-01, A4-02). Base64url has neither,
 * is reversible, and every token begins with `L`, since every name begins with `/`: so a token
 * never collides with a reserved word such as {@link NO_FUNCTION}.
 */
export type FunctionToken = string & { readonly __token: 'function' };

/** Stands where a subject asks for a function and there is none (events of a whole host). */
export const NO_FUNCTION = '_';

/**
 * One segment of a name: OpenWhisk's `EntityName` rule, at most 256 characters (field-notes A4-01).
 */
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

/** Throws {@link FunctionNameError} for what OpenWhisk would not allow. */
export function functionToken(name: string): FunctionToken {
  if (!isFunctionName(name)) throw new FunctionNameError(name);
  return Buffer.from(name, 'utf8').toString('base64url') as FunctionToken;
}

/** The name of a token, or null where the token was not made by {@link functionToken}. */
export function functionName(token: string): string | null {
  if (token.length > 1028 || !TOKEN.test(token)) return null;
  const name = Buffer.from(token, 'base64url').toString('utf8');
  // Re-encoding refuses tokens with stray bits, which would give one function two tokens.
  return isFunctionName(name) && Buffer.from(name, 'utf8').toString('base64url') === token
    ? name
    : null;
}
