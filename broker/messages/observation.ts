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
 * One control step of one function on one host (`obs.<fn>`, hook → agents). It covers the
 * activations that ended in the step; those of the control arm are in `control` only.
 */
export const observationSchema = z.object({
  v: version,
  function: functionField,
  host: hostField,
  boot: bootField,
  revision: z.string().min(1).max(64).optional().describe('Version of the action that ran last.'),
  step: sequenceField.describe('Step of this function on this host; rises by one.'),
  observedAt: time.describe(
    "The hook's monotonic clock at the step's end. Targets echo it; only that hook reads it.",
  ),
  span: time.describe('Length of the step.'),
  mode: modeField,
  cpuMode: z.enum(['quota', 'weight']),
  activations: count.describe(
    'Ended in this step, control arm excluded. `failures`: developer or system error, timeout.',
  ),
  coldStarts: count,
  failures: count,
  oomKills: count,
  running: count.describe("In flight at the step's end."),
  latency: latencyHistogram.describe('Init + run, as the tap measures them.'),
  coldLatency: latencyHistogram
    .optional()
    .describe('Cold starts in `latency`; absent without any.'),
  peak: amounts.describe(
    'Highest use over the activations; `used` is the mean. `cpu`: busy cores. `memory`: the ' +
      "kernel's peak, page cache included, where it can be reset (cgroup v1; v2 from Linux 6.12 " +
      'on); otherwise the highest working set of the samples.',
  ),
  used: amounts,
  throttledShare: share.describe('Throttled periods / all periods; 0 without a quota.'),
  cpuWait: time
    .optional()
    .describe(
      'Mean time runnable without a CPU per activation; absent if the kernel does not report it.',
    ),
  initTime: time.optional().describe('Init, mean of those that were seen; absent without one.'),
  inits: count.optional().describe('How many `initTime` is the mean of; absent: `coldStarts`.'),
  user: amounts
    .extend({ shares: nonNegative, sharesFollowMemory: z.boolean().optional() })
    .describe(
      'User limits per container; `shares` on the scale of cgroup v1. `sharesFollowMemory`: ' +
        "false for the engine's default and a pod's CPU request, which show nothing of " +
        'user-memory; absent otherwise.',
    ),
  granted: spreads.describe(
    'Limits in force during the activations, which may differ from the target.',
  ),
  demand: amounts.describe(
    'Sum of requested limit (by the safeguard and the target, not limited by the pool) x time ' +
      'running / time since the last observation.',
  ),
  containers: count,
  concurrency: count
    .min(1)
    .describe(
      'Most activations that one container of the revision has run at once on this host; 1 until ' +
        'one is answered after another started beside it.',
    ),
  control: z
    .object({ activations: count, mean: nonNegative, p99: nonNegative })
    .describe('Control arm: random activations at user limits.'),
  slo: time.optional().describe('Objective for init + run, ms; absent until it is known.'),
});
export type Observation = z.infer<typeof observationSchema>;
export const decodeObservation = decoder(observationSchema);
