import { z } from 'zod';
import type { Observation } from '../../broker/messages/index.js';

/** What AWARE keeps of a function over a restart. */
export interface SavedAwareAgent {
  /** As `encodeLifeCycle` has it. */
  readonly life: string;
  readonly weights: { readonly actor: Float32Array; readonly critic: Float32Array };
  /** Null: without the meta-learner. */
  readonly embedding: Float32Array | null;
  readonly mode: Observation['cpuMode'];
}

const savedStateSchema = z.object({
  life: z.string().max(64 * 1024),
  actor: z.string(),
  critic: z.string(),
  /** Absent: without the meta-learner, or saved by an older version. */
  embedding: z.string().optional(),
  mode: z.enum(['quota', 'weight']).default('quota'),
});

export function encodeSaved({ life, weights, embedding, mode }: SavedAwareAgent): unknown {
  return {
    life,
    actor: base64(weights.actor),
    critic: base64(weights.critic),
    ...(embedding === null ? {} : { embedding: base64(embedding) }),
    mode,
  };
}

/** Null: not what `encodeSaved` makes, or a number in it is not finite. */
export function decodeSaved(saved: unknown): SavedAwareAgent | null {
  const checked = savedStateSchema.safeParse(saved);
  if (!checked.success) return null;
  const { life, mode } = checked.data;
  const [actor, critic] = [floats(checked.data.actor), floats(checked.data.critic)];
  const embedding = floats(checked.data.embedding ?? '');
  if (actor === null || critic === null || embedding === null) return null;
  const weights = { actor, critic };
  return { life, weights, embedding: embedding.length === 0 ? null : embedding, mode };
}

const base64 = (numbers: Float32Array): string =>
  Buffer.from(numbers.buffer, numbers.byteOffset, numbers.byteLength).toString('base64');

/** Null: not a multiple of four bytes, or not finite. */
function floats(text: string): Float32Array | null {
  const bytes = Uint8Array.from(Buffer.from(text, 'base64'));
  if (bytes.byteLength % 4 !== 0) return null;
  const numbers = new Float32Array(bytes.buffer);
  return numbers.every(Number.isFinite) ? numbers : null;
}
