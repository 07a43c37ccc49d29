import { z } from 'zod';
import type { ActivationRecord } from '../../simulator/invoker-emulator/index.js';
import type { Round } from '../benefit/paired-runs.js';
import { roundsFile } from '../rounds-file.js';

const ARMS = ['off', 'on', 'again'] as const satisfies readonly (keyof Round)[];
export type Arm = (typeof ARMS)[number];

const amount = z.number().min(0);
const activationSchema = z.object({
  name: z.string(),
  id: z.string(),
  runMs: amount,
  kind: z.string(),
  ok: z.boolean(),
});
const activations = z.array(activationSchema);
const roundSchema = z.object({
  round: z.number().int().min(0),
  /** Of each function in order of arrival, the same in all three. */
  arms: z.object({ off: activations, on: activations, again: activations }),
  /** By id: the grant of a managed activation, CPU-ms, and its reason. */
  brought: z.record(
    z.string(),
    z.object({ harvested: amount, accelerated: amount, how: z.string() }),
  ),
  /** OOM kills below a user's limit that the hook saw, since the end of the round before. */
  killedBelow: amount,
  /** Steps that agents sampled since then. */
  sampledSteps: amount,
  /** Of its three arms. */
  runs: z.array(
    z.object({
      on: z.boolean(),
      activations: amount,
      failed: amount,
      written: amount,
      functions: z.number(),
      others: z.number(),
    }),
  ),
  /** Highest other use of the host in a run, and whether the round was repeated because of it. */
  others: z.number(),
  again: z.boolean(),
});

export type KeptActivation = z.output<typeof activationSchema>;
/** One round as it is kept in a file, so that a run can be made in parts. */
export type RoundRecord = z.output<typeof roundSchema>;

export const keptActivations = (round: Round, arm: Arm): KeptActivation[] =>
  [...round[arm]].flatMap(([name, records]) =>
    records.map((record) => keptActivation(name, record)),
  );

const keptActivation = (
  name: string,
  { activationId, runMs, kind, ok }: ActivationRecord,
): KeptActivation => ({
  name,
  id: activationId,
  runMs,
  kind,
  ok,
});

export const { read: readRounds, add: addRound } = roundsFile(roundSchema);
