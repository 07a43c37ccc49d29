import { type Micros, systemClock } from '../config/index.js';
import { ModeConflictError } from './errors.js';
import {
  decodeMode,
  encodeMessage,
  MODE_GLOBAL,
  type ModeValue,
  modeKey,
} from './messages/index.js';
import type { Broker } from './port.js';
import { buckets } from './subjects.js';

/** Members to change; `mode: null` returns to the configured mode. */
export interface ModeChange {
  readonly mode?: ModeValue['mode'] | null;
  readonly paused?: boolean;
  readonly kill?: boolean;
}

export interface ModeAuthor {
  readonly author: string;
  readonly reason?: string;
}

const ATTEMPTS = 8;

/**
 * Changes the stored mode of one function, or the global one (`fn` null). Members that are not
 * named stay: a pause must survive a change of mode. A value without effect is deleted. Rejects
 * with `GLN_MODE_CONFLICT`, and as the bucket does.
 */
export async function changeMode(
  broker: Broker,
  fn: string | null,
  change: ModeChange,
  changedBy: ModeAuthor,
): Promise<void> {
  const bucket = broker.keyValue(buckets.mode);
  const key = fn === null ? MODE_GLOBAL : modeKey(fn);
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const entry = await bucket.get(key);
    const decoded = entry?.value ? decodeMode(entry.value) : null;
    // Hooks ignore an unreadable value, so it is replaced.
    const before = decoded?.ok ? decoded.message : null;
    const next = {
      kill: change.kill ?? before?.kill ?? false,
      paused: change.paused ?? before?.paused ?? false,
      mode: change.mode === undefined ? before?.mode : (change.mode ?? undefined),
    };
    if (!next.kill && !next.paused && next.mode === undefined) {
      await bucket.delete(key);
      return;
    }
    const at: Micros = systemClock.wall();
    const value = encodeMessage({
      v: 1,
      ...next,
      author: changedBy.author,
      reason: changedBy.reason ?? '',
      at,
    });
    const done = entry?.value
      ? await bucket.update(key, value, entry.revision)
      : await bucket.create(key, value);
    if (done !== null) return;
  }
  throw new ModeConflictError(key);
}
