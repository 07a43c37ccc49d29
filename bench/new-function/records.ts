import { z } from 'zod';
import { roundsFile } from '../rounds-file.js';

/** `fallback` alone, `aware`, `fallback` again. */
export const ARMS = ['fallback', 'aware', 'again'] as const;
export type Arm = (typeof ARMS)[number];

const callSchema = z.object({
  /** Time at the container / (requested CPU time + waiting). */
  slowdown: z.number().positive(),
  ok: z.boolean(),
  /** Life-cycle phase at arrival; that of the fallback in its arms. */
  phase: z.string(),
});
const calls = z.array(callSchema);
const armSchema = z.object({
  /** In order of arrival. */
  fresh: calls,
  running: calls,
});
const roundSchema = z.object({
  round: z.number().int().min(1),
  mode: z.enum(['quota', 'weight']),
  arms: z.object({ fallback: armSchema, aware: armSchema, again: armSchema }),
  /** Decisions of `aware` by phase, and those of its agent that changed something. */
  decisions: z.record(z.string(), z.number().int().min(0)),
  moved: z.number().int().min(0),
});

export type CallRecord = z.output<typeof callSchema>;
export type ArmRecord = z.output<typeof armSchema>;
/** One round as it is kept in a file, so that a run can be made in parts. */
export type RoundRecord = z.output<typeof roundSchema>;

export const { read: readRounds, add: addRound } = roundsFile(roundSchema);
