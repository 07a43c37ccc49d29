import { type Bytes, type Millicores, type Millis, mebibytes } from '../../config/index.js';

/** How a container's CPU is managed: by its CFS quota, or (no quota, stock OpenWhisk) by its weight only (design §3). */
export type CpuMode = 'quota' | 'weight';

/** `guarantee`: never below the user's limit, loans from physical headroom. `faasrm`: the published rule, opt-in. */
export type MemoryPolicy = 'guarantee' | 'faasrm';

/** `freyr-code` is the published program (threshold .9 twice), `freyr-paper` the published text (.8): faasrm.md §1.1, §1.2. */
export type Preset = 'default' | 'freyr-code' | 'freyr-paper';

/** Every constant of the decision. Plain numbers, one hidden class; validated where the configuration is read. */
export interface DecisionSettings {
  readonly preset: Preset;
  /** Peak at or below this share of the user's limit: over-provisioned. */
  readonly thetaUser: number;
  /** Peak at or above this share of a *reduced* limit: spike. */
  readonly thetaSpike: number;
  /** The lower bound keeps the expected peak this much below `thetaSpike`, so that it never trips itself. */
  readonly spikeMargin: number;
  /** Smallest step above a peak; the larger of this and `cpuUnitShare` x user counts. */
  readonly cpuUnit: Millicores;
  readonly cpuUnitShare: number;
  readonly memoryUnit: Bytes;
  /** Most that one container may ever get. */
  readonly cpuCap: Millicores;
  readonly memoryCap: Bytes;
  /** Least quota of any container: a health check must still be answered (field-notes A1-23). */
  readonly cpuFloor: Millicores;
  readonly memoryFloor: Bytes;
  readonly halfLife: Millis;
  /** No peak is taken from a window shorter than this. */
  readonly minimumWindow: Millis;
  /** Share of activations that run at user limits whatever anyone says; 0 = off. */
  readonly controlShare: number;
  /** Control samples from which the arm's own p99 is trusted; below, the share rises and the p95 is shrunk. */
  readonly controlSamples: number;
  /** Objective = this x the control arm's percentile, where nothing is configured. */
  readonly sloFactor: number;
  readonly memoryPolicy: MemoryPolicy;
  /** Kept back from the pools. */
  readonly cpuReserve: Millicores;
  readonly memoryReserve: Bytes;
  /** Exponent of `short-first`. */
  readonly alpha: number;
  /** Reference CPU time of `short-first`, ms; 0 = the host's own decaying geometric mean. */
  readonly referenceCpuTime: Millis;
  readonly weightClampLow: number;
  readonly weightClampHigh: number;
  /** A payer slower than this x its control arm gets a smaller alpha. */
  readonly payerBound: number;
  /** Policies are told what a call's size says about its CPU time, where it says something. */
  readonly payloadAware: boolean;
  readonly boostFactor: number;
  readonly boostTime: Millis;
  /** Runs at user limits after an OOM kill that a lowered limit caused (`faasrm`). */
  readonly oomHoldRuns: number;
  /** Sampling period plus the time a raise takes: memory must not outgrow its limit within it (field-notes A2-28). */
  readonly reactionTime: Millis;
  /** With several activations in a container, its CPU falls by at most this share of the user's a start. */
  readonly concurrentStep: number;
  /** Off in the published presets only: Freyr never acts during an execution (faasrm.md §1.1). */
  readonly midRun: boolean;
  /** Functions remembered; the least recently used one is forgotten first. */
  readonly maxFunctions: number;
}

export const defaultDecisionSettings: DecisionSettings = {
  preset: 'default',
  thetaUser: 0.9,
  thetaSpike: 0.8,
  spikeMargin: 0.05,
  cpuUnit: 50 as Millicores,
  cpuUnitShare: 0.05,
  memoryUnit: mebibytes(16),
  cpuCap: 8000 as Millicores,
  memoryCap: mebibytes(2048),
  cpuFloor: 100 as Millicores,
  memoryFloor: mebibytes(64),
  halfLife: 3_600_000 as Millis,
  minimumWindow: 50 as Millis,
  controlShare: 0.03,
  controlSamples: 200,
  sloFactor: 1.2,
  memoryPolicy: 'guarantee',
  cpuReserve: 0 as Millicores,
  memoryReserve: mebibytes(256),
  alpha: 1,
  referenceCpuTime: 0 as Millis,
  weightClampLow: 1 / 16,
  weightClampHigh: 16,
  payerBound: 1.25,
  payloadAware: true,
  boostFactor: 16,
  boostTime: 10_000 as Millis,
  oomHoldRuns: 20,
  reactionTime: 130 as Millis,
  concurrentStep: 0.1,
  midRun: true,
  maxFunctions: 10_000,
};

/** The published rules exactly: whole cores, 64 MB units, caps of eight units (faasrm.md §1, units). */
export function freyrSettings(
  preset: 'freyr-code' | 'freyr-paper',
  memoryUnit: Bytes = mebibytes(64),
): DecisionSettings {
  const theta = preset === 'freyr-code' ? 0.9 : 0.8;
  return {
    ...defaultDecisionSettings,
    preset,
    thetaUser: preset === 'freyr-code' ? theta : 1,
    thetaSpike: theta,
    cpuUnit: 1000 as Millicores,
    cpuUnitShare: 0,
    memoryUnit,
    cpuCap: 8000 as Millicores,
    memoryCap: (8 * memoryUnit) as Bytes,
    cpuFloor: 1000 as Millicores,
    memoryFloor: memoryUnit,
    memoryPolicy: 'faasrm',
    halfLife: Number.POSITIVE_INFINITY as Millis,
    midRun: false,
    payloadAware: false,
  };
}

/** What one host has to give. */
export interface HostCapacity {
  /** The host's cores. */
  readonly cpu: Millicores;
  /** CPU that action containers may use together. */
  readonly allocatableCpu: Millicores;
  readonly memory: Bytes;
  /** Memory the `faasrm` policy may hand out together: the invokers' user-memory. */
  readonly allocatableMemory: Bytes;
}
