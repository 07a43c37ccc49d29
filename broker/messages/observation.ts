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
 * One control step of one function on one host (`obs.<fn>`, hook → agents). Spans in ms, cpu in millicores, memory in bytes.
 * It covers the activations that ended in the step; the control arm's are in `control` and nowhere else.
 */
export const observationSchema = z.object({
  v: version,
  function: functionField,
  host: hostField,
  boot: bootField,
  /** Step of this function on this host; rises by one. */
  step: sequenceField,
  /** The hook's own monotonic clock at the step's end: targets echo it, nobody else reads it as a time. */
  observedAt: time,
  /** How long the step was: rates are counts over this. */
  span: time,
  mode: modeField,
  cpuMode: z.enum(['quota', 'weight']),
  /** Ended in this step (control arm excluded), and of these: started cold, failed (developer or system error, time limit). */
  activations: count,
  coldStarts: count,
  failures: count,
  oomKills: count,
  /** In flight at the step's end. */
  running: count,
  /** Init + run, as the tap sees it. */
  latency: latencyHistogram,
  /** Highest and mean use over the activations: busy cores, working set. */
  peak: amounts,
  used: amounts,
  /** Throttled periods / all periods; 0 where no quota stands. */
  throttledShare: share,
  /** Time runnable without a CPU, mean per activation; absent where the kernel does not tell. */
  cpuWait: time.optional(),
  /** Init, mean per cold start; absent without one. */
  initTime: time.optional(),
  /** What the user asked for, per container; `shares` on the scale of cgroup v1. */
  user: amounts.extend({ shares: nonNegative }),
  /** Limits in force over the activations: rewards are tagged with these, not with the target. */
  granted: spreads,
  /** What the safeguard's range and the target together asked for, before the pool's bound: the price's numerator. */
  wanted: amounts,
  containers: count,
  /** Activations that one container may run at once (the action's `concurrency`). */
  concurrency: count.min(1),
  /** Random activations at user limits (design §3.8). */
  control: z.object({ activations: count, mean: nonNegative, p99: nonNegative }),
  /** Objective for init + run, ms; absent until one is known. */
  slo: time.optional(),
});
export type Observation = z.infer<typeof observationSchema>;
export const decodeObservation = decoder(observationSchema);
