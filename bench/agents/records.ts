import { z } from 'zod';
import type { ActivationRecord } from '../../simulator/invoker-emulator/index.js';
import type { Round } from '../benefit/paired-runs.js';
import { roundsFile } from '../rounds-file.js';

const ARMS = ['off', 'on', 'again'] as const satisfies readonly (keyof Round)[];
export type Arm = (typeof ARMS)[number];

const amount = z.number().min(0);
const callSchema = z.object({
  name: z.string(),
  id: z.string(),
  runMs: amount,
  kind: z.string(),
  ok: z.boolean(),
});
const calls = z.array(callSchema);
const roundSchema = z.object({
  round: z.number().int().min(0),
  /** Of each function in order of arrival, the same in all three. */
  arms: z.object({ off: calls, on: calls, again: calls }),
  /** By id: the grant of a managed call, CPU-ms, and its reason. */
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
      calls: amount,
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

export type CallRecord = z.output<typeof callSchema>;
/** One round as it is kept in a file, so that a run can be made in parts. */
export type RoundRecord = z.output<typeof roundSchema>;

export const keptCalls = (round: Round, arm: Arm): CallRecord[] =>
  [...round[arm]].flatMap(([name, records]) => records.map((record) => callRecord(name, record)));

const callRecord = (
  name: string,
  { activationId, runMs, kind, ok }: ActivationRecord,
): CallRecord => ({
  name,
  id: activationId,
  runMs,
  kind,
  ok,
});

export const { read: readRounds, add: addRound } = roundsFile(roundSchema);
