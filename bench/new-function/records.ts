import { z } from 'zod';
import { roundsFile } from '../rounds-file.js';

/** `nothing`: Gleaner observes and writes no limit. */
export const ARMS = ['nothing', 'fallback', 'aware'] as const;
export type Arm = (typeof ARMS)[number];
/** A new function without a quota, as on stock OpenWhisk, and one with a quota. */
export const MODES = ['weight', 'quota'] as const;
export type Mode = (typeof MODES)[number];

export const perMode = <T>(of: (mode: Mode) => T): Record<Mode, T> => ({
  weight: of('weight'),
  quota: of('quota'),
});

const activationSchema = z.object({
  /** Time at the container / (requested CPU time + waiting). */
  slowdown: z.number().positive(),
  ok: z.boolean(),
  /** Life-cycle phase at arrival. */
  phase: z.string(),
});
const activations = z.array(activationSchema);
/** Activations of the new functions and of those that ran already, in order of arrival. */
const armSchema = z.object({ weight: activations, quota: activations, running: activations });
/** Decisions of `aware` by phase, and those of its agent that changed something. */
const decisionsSchema = z.object({
  phases: z.record(z.string(), z.number().int().min(0)),
  moved: z.number().int().min(0),
});
const roundSchema = z.object({
  round: z.number().int().min(1),
  arms: z.object({ nothing: armSchema, fallback: armSchema, aware: armSchema }),
  decisions: z.object({ weight: decisionsSchema, quota: decisionsSchema }),
});

export type ActivationRecord = z.output<typeof activationSchema>;
export type ArmRecord = z.output<typeof armSchema>;
/** One round as it is kept in a file, so that a run can be made in parts. */
export type RoundRecord = z.output<typeof roundSchema>;

export const { read: readRounds, add: addRound } = roundsFile(roundSchema);
