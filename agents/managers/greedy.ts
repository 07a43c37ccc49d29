import type { Bytes, Millicores } from '../../config/index.js';
import { mebibytes } from '../../config/index.js';
import type { Cap, ResourceManager } from '../resource-manager.js';
import { allocated } from './validation.js';

/** Constants of the greedy manager. Amounts in millicores and bytes, shares of one. */
export interface GreedyConstants {
  /**
   * A peak up to this share of the allocation means one step down, above it one step up (faasrm.md
   * §4.2: 0.9).
   */
  readonly threshold: number;
  readonly cpuStep: (user: number) => number;
  readonly memoryStep: number;
  readonly minCpu: (user: number) => number;
  readonly minMemory: number;
  /** Null: the cap that the configuration gives. */
  readonly cap: Cap | null;
}

/**
 * The default: the published rule in fractional units. The published step is one core (two in the
 * simulator) of at most eight; functions here are often owed less than one core, so a step is a
 * quarter core or 10 % of the user's, whichever is more. Memory keeps the published 64 MiB. The
 * least are the safeguard's own units (design §3.2) and OpenWhisk's smallest common container.
 */
export const GREEDY_DEFAULT: GreedyConstants = {
  threshold: 0.9,
  cpuStep: (user) => Math.max(250, 0.1 * user),
  memoryStep: mebibytes(64),
  minCpu: (user) => Math.max(50, 0.05 * user),
  minMemory: mebibytes(64),
  cap: null,
};

/**
 * As published for OpenWhisk (faasrm.md §4.2, OW-F and paper): whole units, 1..8 cores and 1..8 x
 * 64 MiB, step one unit.
 */
export const GREEDY_FREYR: GreedyConstants = {
  threshold: 0.9,
  cpuStep: () => 1000,
  memoryStep: mebibytes(64),
  minCpu: () => 1000,
  minMemory: mebibytes(64),
  cap: { cpu: 8000 as Millicores, memory: mebibytes(512) },
};

export interface GreedyState {
  /** What was wished last; null before the first step with activations: user limits. */
  readonly cpu: number | null;
  readonly memory: number | null;
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
 * One step down while the peak leaves room, one step up when it does not (faasrm.md §4.2). First
 * step of a function: the user's limits. Peaks are the step's highest, so one large call among many
 * counts. After an OOM kill memory is at least the user's and a step more; a step without
 * activations changes nothing.
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
      // A user's limit above the cap stands: a manager may lend less, not take away by
      // configuration.
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
      memory = Math.round(memory);
      return {
        state: { cpu, memory },
        decision: {
          cpu: cpu as Millicores,
          memory: memory as Bytes,
          actions: [0, Math.sign(cpu - cpuBefore), Math.sign(memory - memoryBefore)],
        },
      };
    },
  };
}
