import { z } from 'zod';
import { key, liveKey, positive, section, share } from '../keys.js';
import { quotaPolicies, weightPolicies } from '../policies.js';

const DESCRIPTION =
  'How limits are chosen. Hooks apply live keys at SIGHUP; agents, which decide by the same ' +
  'limits and rules, at a restart.';

export const decisionSchema = section(DESCRIPTION, {
  preset: liveKey(
    z.enum(['default', 'freyr-code', 'freyr-paper']),
    'default',
    '`freyr-…`: the published FaaSRM rules in whole units, as programmed or as written, for ' +
      'comparisons; overrides the keys below.',
  ),
  thetaUser: liveKey(
    z.number().min(0.1).max(1),
    0.9,
    'A function whose peak is at most this share of its user limit is over-provisioned.',
  ),
  thetaSpike: liveKey(
    z.number().min(0.1).max(1),
    0.8,
    "Usage at or above this share of a reduced limit is a spike: the user's limit is restored.",
  ),
  cpuFloorMillicores: liveKey(z.int().min(10).max(1000), 100, 'No CPU limit goes below this.'),
  memoryFloorMiB: liveKey(z.int().min(6).max(1_048_576), 64, 'No memory limit goes below this.'),
  cpuCapMillicores: liveKey(
    positive(1_000_000).nullable(),
    null,
    "No CPU limit goes above this; null: the host's cores.",
  ),
  memoryCapMiB: liveKey(
    positive(16_777_216).nullable(),
    null,
    "No memory limit goes above this; null: the host's memory.",
  ),
  // Not live: samples are weighed by their time / half-life, and could not be compared with later
  // ones under another half-life.
  peakHalfLifeS: key(
    positive(31_536_000),
    3600,
    'Age at which what a hook has seen of a function counts half: peaks, durations, CPU times.',
  ),
  targetStaleMs: liveKey(
    positive(3_600_000),
    30_000,
    "A target older than this (by the hook's own clock) is ignored.",
  ),
  maxFunctions: key(
    z.int().min(1).max(10_000_000),
    10_000,
    'Functions remembered; the least recently used is forgotten first.',
  ),
  controlSamples: liveKey(
    z.int().min(1).max(1_000_000),
    200,
    "Control activations needed to use the arm's own p99; with fewer, the share rises.",
  ),
  controlShare: liveKey(
    share(),
    0.03,
    'Share of activations that always run at user limits (the control arm); 0: off.',
  ),
  cpuReserveMillicores: liveKey(z.int().min(0).max(1_000_000), 0, 'CPU that is never lent.'),
  memoryReserveMiB: liveKey(
    z.int().min(0).max(1_048_576),
    256,
    'Physical memory that is never lent.',
  ),
  sloFactor: liveKey(
    z.number().min(1).max(100),
    1.2,
    'Objective of a function without an SLO: this times the p99 of its control arm.',
  ),
  policy: section('Names of the activation policies, evaluated in the hook at every start.', {
    quota: liveKey(
      z.enum(quotaPolicies),
      'smallest-in-range',
      "Choice inside the safeguard's range, where CPU is limited by quotas.",
    ),
    weight: liveKey(
      z.enum(weightPolicies),
      'deadline-first',
      'Choice of the CPU weight, with a quota or without.',
    ),
  }),
  weight: section('Of `deadline-first`, `gittins` and `short-first` (docs/managers.md).', {
    alpha: liveKey(
      z.number().min(0).max(2),
      1,
      "Exponent; only `short-first` has not twice it. 0: OpenWhisk's own weights.",
    ),
    referenceMs: liveKey(
      positive(3_600_000).nullable(),
      null,
      'CPU time of an activation that keeps its own weight; null: learned.',
    ),
    slowdownBound: liveKey(
      z.number().min(1).max(100),
      1.25,
      "Mean run time of a deprioritized function over its control arm's mean (the mean-time " +
        'ratio; arithmetic means) above which it keeps its own weight (an eighth of it beside ' +
        'containers that are not managed).',
    ),
  }),
  boost: section(
    'More CPU for a container that an activation waits for, from its start (prewarmed: from ' +
      '`/init`) until `/init` is answered.',
    {
      enabled: liveKey(z.boolean(), true, 'Cold-start boost.'),
    },
  ),
  memory: section('How memory is lent.', {
    policy: liveKey(
      z.enum(['guarantee', 'faasrm']),
      'guarantee',
      "`guarantee`: loans never lower a lender's limit. `faasrm`: the published rule, also below " +
        "the user's limit; it can cause OOM kills.",
    ),
    invokerMemoryMiB: key(
      positive(16_777_216).nullable(),
      null,
      "Sum of the invokers' user-memory; null: learned from the containers' shares.",
    ),
  }),
});
