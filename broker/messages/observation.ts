import { z } from 'zod';
import { decoder } from './codec.js';
import {
  amounts,
  bootField,
  count,
  functionField,
  hostField,
  modeField,
  nonNegative,
  sequenceField,
  share,
  spreads,
  time,
  version,
} from './fields.js';
import { latencyHistogram } from './latency-histogram.js';

/**
 * One control step of one function on one host (`obs.<fn>`, hook → agents). Spans in ms, cpu in
 * millicores, memory in bytes. It covers the activations that ended in the step; the control arm's
 * are in `control` and nowhere else.
 */
export const observationSchema = z.object({
  v: version,
  function: functionField,
  host: hostField,
  boot: bootField,
  revision: z.string().min(1).max(64).optional().describe('Version of the action that ran last.'),
  step: sequenceField.describe('Step of this function on this host; rises by one.'),
  observedAt: time.describe(
    "The hook's own monotonic clock at the step's end: targets echo it, nobody else reads it as a time.",
  ),
  span: time.describe('How long the step was: rates are counts over this.'),
  mode: modeField,
  cpuMode: z.enum(['quota', 'weight']),
  activations: count.describe(
    'Ended in this step (control arm excluded), and of these: started cold, failed (developer or system error, time limit).',
  ),
  coldStarts: count,
  failures: count,
  oomKills: count,
  running: count.describe("In flight at the step's end."),
  latency: latencyHistogram.describe('Init + run, as the tap sees it.'),
  coldLatency: latencyHistogram
    .optional()
    .describe('The part of `latency` of cold starts; absent without any.'),
  peak: amounts.describe('Highest and mean use over the activations: busy cores, working set.'),
  used: amounts,
  throttledShare: share.describe('Throttled periods / all periods; 0 where no quota stands.'),
  cpuWait: time
    .optional()
    .describe(
      'Time runnable without a CPU, mean per activation; absent where the kernel does not tell.',
    ),
  initTime: time.optional().describe('Init, mean per cold start; absent without one.'),
  user: amounts
    .extend({ shares: nonNegative })
    .describe('What the user asked for, per container; `shares` on the scale of cgroup v1.'),
  granted: spreads.describe(
    'Limits in force over the activations: rewards are tagged with these, not with the target.',
  ),
  demand: amounts.describe(
    "What the safeguard's range and the target together asked for, before the pool's bound: the price's numerator.",
  ),
  containers: count,
  concurrency: count
    .min(1)
    .describe("Activations that one container may run at once (the action's `concurrency`)."),
  control: z
    .object({ activations: count, mean: nonNegative, p99: nonNegative })
    .describe('Random activations at user limits (design §3.8).'),
  slo: time.optional().describe('Objective for init + run, ms; absent until one is known.'),
});
export type Observation = z.infer<typeof observationSchema>;
export const decodeObservation = decoder(observationSchema);
