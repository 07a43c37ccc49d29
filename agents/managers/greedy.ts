import { type Bytes, bytes, type Millicores, mebibytes, millicores } from '../../config/index.js';
import type { Cap, ResourceManager } from '../resource-manager.js';
import { allocated } from '../validation.js';

/** Constants of the greedy manager. */
export interface GreedyConstants {
  /** Up to this share of the allocation a peak means one step down, above it one step up. */
  readonly threshold: number;
  readonly cpuStep: (user: Millicores) => Millicores;
  readonly memoryStep: Bytes;
  readonly minCpu: (user: Millicores) => Millicores;
  readonly minMemory: Bytes;
  /** Null: the configured cap. */
  readonly cap: Cap | null;
}

/**
 * The published rule in fractional units: a step is a quarter core or 10 % of the user limit, as
 * user limits are often below the published step of one core. The minimums are the safeguard's CPU
 * unit and OpenWhisk's smallest common container.
 */
export const GREEDY_DEFAULT: GreedyConstants = {
  threshold: 0.9,
  cpuStep: (user) => millicores(Math.max(250, 0.1 * user)),
  memoryStep: mebibytes(64),
  minCpu: (user) => millicores(Math.max(50, 0.05 * user)),
  minMemory: mebibytes(64),
  cap: null,
};

/** As published [FaaSRM] [Freyr]: steps of one unit, 1 to 8 cores and 1 to 8 × 64 MiB. */
export const GREEDY_FREYR: GreedyConstants = {
  threshold: 0.9,
  cpuStep: () => millicores(1000),
  memoryStep: mebibytes(64),
  minCpu: () => millicores(1000),
  minMemory: mebibytes(64),
  cap: { cpu: millicores(8000), memory: mebibytes(512) },
};

export interface GreedyState {
  /** The last target; null before the first step with activations: user limits. */
  readonly cpu: Millicores | null;
  readonly memory: Bytes | null;
}

function nextAmount(
  peak: number,
  allocated: number,
  threshold: number,
  step: number,
  least: number,
  cap: number,
): number {
  const next = peak <= threshold * allocated ? allocated - step : allocated + step;
  return Math.min(cap, Math.max(least, next));
}

/**
 * The baseline "Greedy" of [FaaSRM]: from the user limits one step down while the highest peak of
 * the control step leaves headroom, otherwise up. An OOM kill raises memory above the user limit.
 */
export function greedyManager(
  constants: GreedyConstants,
  configured: Cap,
): ResourceManager<GreedyState> {
  const cap = constants.cap ?? configured;
  return {
    name: 'greedy',
    initialState: () => ({ cpu: null, memory: null }),
    phase: () => 'managing',
    decide(state, { observation }) {
      const { user, peak, activations, oomKills } = observation;
      let cpu: number = state.cpu ?? user.cpu;
      let memory: number = state.memory ?? user.memory;
      const cpuBefore = cpu;
      const memoryBefore = memory;
      // A user limit above the cap is allowed: the cap bounds raises, it does not reduce users.
      const cpuCap = Math.max(cap.cpu, user.cpu);
      const memoryCap = Math.max(cap.memory, user.memory);
      if (state.cpu !== null && state.memory !== null && activations > 0) {
        const { threshold } = constants;
        const held = allocated(observation, 'memory', memory);
        const cpuHeld = allocated(observation, 'cpu', cpu);
        cpu = nextAmount(
          peak.cpu,
          cpuHeld,
          threshold,
          constants.cpuStep(user.cpu),
          constants.minCpu(user.cpu),
          cpuCap,
        );
        memory = nextAmount(
          peak.memory,
          held,
          threshold,
          constants.memoryStep,
          constants.minMemory,
          memoryCap,
        );
        if (oomKills > 0)
          memory = Math.min(memoryCap, Math.max(held, user.memory) + constants.memoryStep);
      }
      const target = { cpu: millicores(cpu), memory: bytes(Math.round(memory)) };
      const actions = [
        0,
        Math.sign(cpu - cpuBefore),
        Math.sign(target.memory - memoryBefore),
      ] as const;
      return { state: target, decision: { ...target, actions } };
    },
  };
}
