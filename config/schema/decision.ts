import { z } from 'zod';
import { key, positive, section, share } from '../keys.js';
import { quotaPolicies, weightPolicies } from '../policies.js';

const live = { reload: true };

export const decisionSchema = section(
  'How limits are chosen. All of it can change while running.',
  {
    preset: key(
      z.enum(['default', 'freyr-code', 'freyr-paper']),
      'default',
      '`freyr-…`: whole units and the published FaaSRM rules exactly (as programmed, as written), for comparisons; overrides the keys below.',
      live,
    ),
    thetaUser: key(
      z.number().min(0.1).max(1),
      0.9,
      'A function whose peak is at most this share of its user limit is over-provisioned.',
      live,
    ),
    thetaSpike: key(
      z.number().min(0.1).max(1),
      0.8,
      "Use at or above this share of a reduced limit is a spike: the user's limit is restored at once.",
      live,
    ),
    spikeMargin: key(
      share(),
      0.05,
      'The lower bound keeps the expected peak this much below `thetaSpike`.',
      live,
    ),
    cpuUnitMillicores: key(z.int().min(1).max(1000), 50, 'Smallest CPU step above a peak.', {
      unit: 'millicores',
      ...live,
    }),
    cpuUnitShare: key(share(), 0.05, "The step is at least this share of the user's CPU.", live),
    memoryUnitMiB: key(z.int().min(1).max(1024), 16, 'Memory step above a peak.', {
      unit: 'MiB',
      ...live,
    }),
    cpuFloorMillicores: key(z.int().min(10).max(1000), 100, 'No CPU limit goes below this.', {
      unit: 'millicores',
      ...live,
    }),
    memoryFloorMiB: key(z.int().min(6).max(1_048_576), 64, 'No memory limit goes below this.', {
      unit: 'MiB',
      ...live,
    }),
    cpuCapMillicores: key(
      positive(1_000_000).nullable(),
      null,
      "No CPU limit goes above this; null: the host's cores.",
      {
        unit: 'millicores',
        ...live,
      },
    ),
    memoryCapMiB: key(
      positive(16_777_216).nullable(),
      null,
      "No memory limit goes above this; null: the host's memory.",
      {
        unit: 'MiB',
        ...live,
      },
    ),
    peakHalfLifeS: key(positive(31_536_000), 3600, 'Age at which a peak counts half.', {
      unit: 's',
      ...live,
    }),
    minWindowMs: key(
      z.number().min(0).max(10_000),
      50,
      'No peak is taken from a window shorter than this.',
      {
        unit: 'ms',
        ...live,
      },
    ),
    lateStartMs: key(
      positive(10_000),
      50,
      'A start that reaches the hook later than this sets no limit.',
      {
        unit: 'ms',
        ...live,
      },
    ),
    targetStaleMs: key(
      positive(3_600_000),
      30_000,
      "A target older than this (by the hook's own clock) is ignored.",
      {
        unit: 'ms',
        ...live,
      },
    ),
    reactionMs: key(
      z.number().min(0).max(60_000),
      130,
      'Sampling period plus the time a raise takes: memory must not outgrow its limit within it.',
      { unit: 'ms', ...live },
    ),
    concurrentStep: key(
      share(),
      0.1,
      "With several activations in a container its CPU falls by at most this share of the user's at a start.",
      live,
    ),
    maxFunctions: key(
      z.int().min(1).max(10_000_000),
      10_000,
      'Functions remembered; the least recently used is forgotten first.',
    ),
    controlSamples: key(
      z.int().min(1).max(1_000_000),
      200,
      "Control activations from which the arm's own p99 is trusted; the share rises while there are fewer.",
      live,
    ),
    controlShare: key(
      share(),
      0.03,
      'Share of activations that run at user limits whatever anyone says; 0: off.',
      live,
    ),
    cpuReserveMillicores: key(z.int().min(0).max(1_000_000), 0, 'CPU that is never lent.', {
      unit: 'millicores',
      ...live,
    }),
    memoryReserveMiB: key(
      z.int().min(0).max(1_048_576),
      256,
      'Physical memory that is never lent.',
      {
        unit: 'MiB',
        ...live,
      },
    ),
    sloFactor: key(
      z.number().min(1).max(100),
      1.2,
      'A function without an SLO of its own: this times the p99 of its control arm.',
      live,
    ),
    payloadAware: key(
      z.boolean(),
      true,
      "Expect a call's CPU time from the size of its body, of functions where that errs less than their own mean and median (`short-first`).",
      live,
    ),
    policy: section('Names of the activation policies, evaluated in the hook at every start.', {
      quota: key(
        z.enum(quotaPolicies),
        'smallest-in-range',
        "Choice inside the safeguard's range, where CPU is limited by quotas.",
        live,
      ),
      weight: key(
        z.enum(weightPolicies),
        'short-first',
        'Choice of the CPU weight, with a quota or without.',
        live,
      ),
    }),
    weight: section(
      '`short-first`: weight = own shares x clamp((reference / expected CPU time)^alpha).',
      {
        alpha: key(z.number().min(0).max(2), 1, "Exponent; 0: OpenWhisk's own weights.", live),
        referenceMs: key(
          positive(3_600_000).nullable(),
          null,
          'CPU time of a call that keeps its own weight; null: learned from the calls.',
          {
            unit: 'ms',
            ...live,
          },
        ),
        clampMin: key(z.number().positive().max(1), 0.0625, 'Smallest factor.', live),
        clampMax: key(z.number().min(1).max(256), 16, 'Largest factor.', live),
        slowdownBound: key(
          z.number().min(1).max(100),
          1.25,
          'Slowdown against its control arm above which a paying function makes alpha fall.',
          live,
        ),
      },
    ),
    boost: section(
      'More CPU for a container that an activation waits for, until `/init` is answered: from its start, or from `/init` if it was prewarmed.',
      {
        enabled: key(z.boolean(), true, 'Cold-start boost.', live),
        factor: key(
          z.number().min(1).max(256),
          16,
          "Factor on the weight, shared by number: the n-th of those that start at once gets an n-th. The quota becomes the host's cores.",
          live,
        ),
        maxMs: key(positive(60_000), 10_000, 'Longest boost.', { unit: 'ms', ...live }),
      },
    ),
    memory: section('What is lent of memory, and by which promise.', {
      policy: key(
        z.enum(['guarantee', 'faasrm']),
        'guarantee',
        "`guarantee`: no lender can miss what is lent. `faasrm`: the published rule, limits below the user's too; it can kill.",
        live,
      ),
      invokerMemoryMiB: key(
        positive(16_777_216).nullable(),
        null,
        "Sum of the invokers' user-memory; null: learned from the containers' shares.",
        { unit: 'MiB', ...live },
      ),
      shrinkMargin: key(
        z.number().min(0).max(10),
        0.25,
        'A limit is lowered only to use x (1 + this).',
        live,
      ),
      oomHoldRuns: key(
        z.int().min(0).max(10_000),
        20,
        'Runs at user limits after an OOM kill.',
        live,
      ),
    }),
  },
);
