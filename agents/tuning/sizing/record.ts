import { z } from 'zod';

const amount = z.number().min(0);
const count = z.int().min(0);

/** The stored evidence of one function: bytes and ms, with ages instead of times. */
export const sizingRecordSchema = z.object({
  limit: amount,
  most: amount,
  highest: amount,
  /** Decayed up to `at`. */
  recent: amount,
  calls: count,
  callsAtLimit: count,
  busy: amount,
  coldStarts: count,
  kills: count,
  killedAt: amount,
  /** Since the first call, up to `at`. */
  seen: amount,
  /** Wall clock, us. */
  at: amount,
});
export type SizingRecord = z.output<typeof sizingRecordSchema>;
