import { targetFactor } from '../weights.js';
import type { ActivationPolicy } from './activation-policy.js';

/** The kernel's default weight. */
export const EQUAL_SHARES = 1024;

/** The policies without state. */
export const formulas = {
  /** What the function's agent asks for; in weight mode its CPU against the user's, x1/4..x4. */
  target: {
    name: 'target',
    kind: 'both',
    choose(run, grant) {
      if (grant === run.memory) return run.targetMemory;
      return run.container.mode === 'weight'
        ? targetFactor(run.targetCpu, grant.user)
        : run.targetCpu;
    },
  },
  /** As little as the safeguard allows: the default in quota mode. */
  'smallest-in-range': {
    name: 'smallest-in-range',
    kind: 'range',
    choose: (_run, { lower }) => lower,
  },
  /** As much as the safeguard allows: a floor for comparisons. */
  'largest-in-range': {
    name: 'largest-in-range',
    kind: 'range',
    choose: (_run, { upper }) => upper,
  },
  /** The baseline that a learned policy must beat. Whole units in the published presets. */
  'random-in-range': {
    name: 'random-in-range',
    kind: 'range',
    choose(run, grant, { settings, random }) {
      const span = grant.upper - grant.lower;
      if (settings.preset === 'default') return grant.lower + random.next() * span;
      const unit = grant === run.cpu ? settings.cpuUnit : settings.memoryUnit;
      return grant.lower + unit * random.below(Math.floor(span / unit) + 1);
    },
  },
  /** One weight for all: a floor for comparisons. */
  equal: {
    name: 'equal',
    kind: 'weight',
    choose: ({ container }) => EQUAL_SHARES / container.user.shares,
  },
  /** OpenWhisk's own weights, by memory: a floor for comparisons. */
  memory: { name: 'memory', kind: 'weight', choose: () => 1 },
} satisfies Record<string, ActivationPolicy>;
