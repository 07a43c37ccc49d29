/**
 * Secrets by their shape, wherever they stand: a bundle is read by people who may not have them.
 * Names of functions and hosts are no secrets here; nothing that Gleaner keeps holds a payload, a
 * result or a key of a user's function.
 */
const SHAPES: readonly (readonly [RegExp, string])[] = [
  // -----BEGIN … PRIVATE KEY-----, NKEY SEED, USER JWT: with all that stands inside.
  [/-----BEGIN ([A-Z0-9 ]+)-----[\s\S]*?(-----END \1-----|$)/g, '*** $1 ***'],
  // Seeds and private keys of NKeys.
  [/\b[SP][UAONCX][A-Z2-7]{50,}/g, '***'],
  // JSON web tokens.
  [/\beyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]*)?/g, '***'],
  // User and password in an address.
  [/(\w+:\/\/)[^/@\s"']+@/g, '$1***@'],
  [/\b(Basic|Bearer)\s+[A-Za-z0-9+/=._:-]{6,}/gi, '$1 ***'],
  // OpenWhisk's own: uuid:key.
  [/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:[A-Za-z0-9]{20,}/gi, '***'],
  // A key that says what it is, in JSON, YAML or an environment.
  [
    /((?:password|passwd|secret|token|api[_-]?key|auth)["']?\s*[:=]\s*)("[^"]+"|'[^']+'|[^\s,}"']+)/gi,
    '$1"***"',
  ],
];

export function redacted(text: string): string {
  let out = text;
  for (const [shape, instead] of SHAPES) out = out.replace(shape, instead);
  return out;
}

/**
 * The same for every text inside a value; keys that name a secret lose their value whatever it is.
 * Paths of key files stay.
 */
export function redactedValue(value: unknown): unknown {
  if (typeof value === 'string') return redacted(value);
  if (Array.isArray(value)) return value.map(redactedValue);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      typeof inner === 'string' && /^(password|passwd|secret|token|apiKey|auth)$/i.test(key)
        ? '***'
        : redactedValue(inner),
    ]),
  );
}
