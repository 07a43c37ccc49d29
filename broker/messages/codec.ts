import type { z } from 'zod';
import { messageOf, valueAt } from '../../config/index.js';

/** Why a message was refused; each is a counter at the receiver. */
export type RefusalKind = 'malformed' | 'too_large' | 'not_finite' | 'wrong_version';

interface Refusal {
  readonly ok: false;
  readonly kind: RefusalKind;
  /** Where and what, bounded; never the message itself. */
  readonly detail: string;
}
type Decoded<T> = { readonly ok: true; readonly message: T } | Refusal;
export type Decode<T> = (data: Uint8Array) => Decoded<T>;

const MESSAGE_VERSION = 1;
/** Default limit of a message's size: above any real one, below the server's 1 MiB. */
const MESSAGE_BYTES_MAX = 64 * 1024;

const utf8 = new TextDecoder('utf-8', { fatal: true });
const encoder = new TextEncoder();

/** JSON in UTF-8. A number that is not finite becomes `null`, which receivers refuse. */
export const encodeMessage = (message: object): Uint8Array =>
  encoder.encode(JSON.stringify(message));

const refuse = (kind: RefusalKind, detail: string): Refusal => ({
  ok: false,
  kind,
  detail: detail.slice(0, 200),
});

/** A decoder of one kind of message. It never throws; a message that is not valid is a refusal. */
export function decoder<T>(schema: z.ZodType<T>, maxBytes = MESSAGE_BYTES_MAX): Decode<T> {
  return (data) => {
    if (data.byteLength > maxBytes)
      return refuse('too_large', `${data.byteLength} bytes, at most ${maxBytes}`);
    let raw: unknown;
    try {
      raw = JSON.parse(utf8.decode(data));
      if (typeof raw !== 'object' || raw === null || Array.isArray(raw))
        return refuse('malformed', 'not an object');
      const version = (raw as { v?: unknown }).v;
      if (typeof version === 'number' && version !== MESSAGE_VERSION)
        return refuse('wrong_version', `v ${version}`);
      const result = schema.safeParse(raw);
      if (result.success) return { ok: true, message: result.data };
      for (const issue of result.error.issues) {
        const value = valueAt(raw, issue.path);
        const notFinite = value === null || (typeof value === 'number' && !Number.isFinite(value));
        if (notFinite) return refuse('not_finite', `${issue.path.join('.')} is ${String(value)}`);
      }
      const first = result.error.issues[0];
      return refuse('malformed', first ? `${first.path.join('.')}: ${first.message}` : 'invalid');
    } catch (error) {
      // JSON.parse and the text decoder throw on bad input; a very deep document overflows the
      // stack inside them.
      return refuse('malformed', messageOf(error));
    }
  };
}
