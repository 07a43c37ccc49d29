import { maskUrlCredentials } from '../../config/index.js';

/** A key that names a secret; one that ends in `file` has its path. */
const SECRET_KEY =
  '(?:(?:pass(?:word|wd|phrase)|secret|token|credential|api[_-]?key)[\\w.-]*(?<!file)|auth)';
const ASSIGNMENT = String.raw`${SECRET_KEY}\\*["']?\s*[:=]\s*`;
const SECRET_NAME = new RegExp(`${SECRET_KEY}$`, 'i');

/**
 * Patterns of secrets, which are replaced anywhere in a bundle. Names of functions and hosts are
 * kept; Gleaner stores no payloads, results or keys of users' functions.
 */
const SHAPES: readonly (readonly [RegExp, string])[] = [
  // -----BEGIN … PRIVATE KEY-----, NKEY SEED, USER JWT: the whole block.
  [/-----BEGIN ([A-Z0-9 ]+)-----[\s\S]*?(-----END \1-----|$)/g, '*** $1 ***'],
  // Seeds and private keys of NKeys.
  [/\b[SP][UAONCX][A-Z2-7]{50,}/g, '***'],
  // JSON web tokens.
  [/\beyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]*)?/g, '***'],
  [/\b(Basic|Bearer)\s+[A-Za-z0-9+/=._:-]{6,}/gi, '$1 ***'],
  // OpenWhisk API keys: uuid:key.
  [/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:[A-Za-z0-9]{20,}/gi, '***'],
  // Values of keys that name a secret, in JSON (also inside a string of JSON), YAML or an
  // environment: in quotes, then without or cut off.
  [new RegExp(String.raw`(${ASSIGNMENT})(\\*["'])(?:\\.|[^\\\n])*?\2`, 'gi'), '$1$2***$2'],
  [new RegExp(String.raw`(${ASSIGNMENT})(?!\\*["']\*\*\*)\\*["']?[^\s,}"']+`, 'gi'), '$1***'],
];

export function redacted(text: string): string {
  let out = maskUrlCredentials(text);
  for (const [shape, instead] of SHAPES) out = out.replace(shape, instead);
  return out;
}

/** Redacts every text inside a value, and the values of keys that name a secret. */
export function redactedValue(value: unknown): unknown {
  if (typeof value === 'string') return redacted(value);
  if (Array.isArray(value)) return value.map(redactedValue);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      typeof inner === 'string' && SECRET_NAME.test(key) ? '***' : redactedValue(inner),
    ]),
  );
}
