import {
  type Bytes,
  type Config,
  defaultConfig,
  type Millicores,
  type Millis,
  mebibytes,
  millicores,
  millis,
} from '../../config/index.js';
import { type RangeRules, rangeRules } from '../../rules/index.js';

/** By CFS quota, or (no quota, stock OpenWhisk) by weight only. */
export type CpuMode = 'quota' | 'weight';

/** `guarantee`: never below the user's limit. `faasrm`: the published rule, opt-in. */
export type MemoryPolicy = 'guarantee' | 'faasrm';

/** `freyr-code` follows the program (both thresholds .9) [Freyr], `freyr-paper` the text (.8). */
type Preset = 'default' | 'freyr-code' | 'freyr-paper';

/** Every constant of the decision; validated where the configuration is read. */
export interface DecisionSettings extends RangeRules {
  readonly preset: Preset;
  /** Most that one container may ever get. */
  readonly cpuCap: Millicores;
  readonly memoryCap: Bytes;
  /** No peak is taken from a window shorter than this. */
  readonly minimumWindow: Millis;
  /** Share of activations that run at user limits whatever anyone says; 0 = off. */
  readonly controlShare: number;
  /** Control samples from which the arm's own p99 is trusted. */
  readonly controlSamples: number;
  /** Objective = this x the control arm's percentile, if nothing is configured. */
  readonly sloFactor: number;
  readonly memoryPolicy: MemoryPolicy;
  /** Kept back from the pools. */
  readonly cpuReserve: Millicores;
  readonly memoryReserve: Bytes;
  /** Exponent of `short-first`. */
  readonly alpha: number;
  /** Reference CPU time of the weight policies, ms; 0 = the host's own ({@link HostReference}). */
  readonly referenceCpuTime: Millis;
  readonly weightClampLow: number;
  readonly weightClampHigh: number;
  /** A deprioritized function slower than this x its control arm gets more weight. */
  readonly slowdownBound: number;
  /** Policies receive the CPU time that the body's size predicts. */
  readonly payloadAware: boolean;
  readonly boostTime: Millis;
  /** Runs with the user's memory after an OOM kill that a lowered limit caused (`faasrm`). */
  readonly oomHoldRuns: number;
  /** Sampling period plus the time a raise takes: memory must not outgrow its limit within it. */
  readonly reactionTime: Millis;
  /** Share of the user's CPU by which a container with several activations falls per start. */
  readonly concurrentStep: number;
  /** Off in the published presets: Freyr never acts during an execution [Freyr]. */
  readonly midRun: boolean;
  /** Functions remembered; the least recently used one is forgotten first. */
  readonly maxFunctions: number;
}

/** If no host is known: eight of FaaSRM's units, as in {@link freyrSettings}. */
const CAP_WITHOUT_HOST = { cpu: 8000 as Millicores, memory: mebibytes(2048) };

/**
 * Range of the factors of weight policies beside containers that are not managed. If there are
 * none, `gittins` goes further; the kernel's own bound, 2^18, is lower for a large container.
 */
export const MIN_WEIGHT_FACTOR = 1 / 16;
export const MAX_WEIGHT_FACTOR = 16;

/** From a sample to the raised limit. */
const RAISE_MILLIS = 30;

/** What no operator needs to change, each with its reason. */
const FIXED = {
  /** Half a CFS period: over less, usage is a burst and not a rate. */
  minimumWindow: 50 as Millis,
  weightClampLow: MIN_WEIGHT_FACTOR,
  weightClampHigh: MAX_WEIGHT_FACTOR,
  payloadAware: true,
  /** Bounds what a container that never answers `/init` takes from others. */
  boostTime: 10_000 as Millis,
  /** One control step of activations shows the peak again. */
  oomHoldRuns: 20,
  /** For the default sampling period. */
  reactionTime: 130,
  /** What the other activations of the container need is unknown: CPU falls over ten starts. */
  concurrentStep: 0.1,
} as const;

/** The decision's constants as configured; the host's size is the cap if none is set. */
export function decisionSettings(
  decision: Config['decision'],
  sampleMillis: number,
  host: { readonly cpu: Millicores; readonly memory: Bytes },
): DecisionSettings {
  if (decision.preset !== 'default') return freyrSettings(decision.preset);
  const { weight, memory } = decision;
  return {
    ...FIXED,
    ...rangeRules(decision),
    preset: 'default',
    cpuCap: decision.cpuCapMillicores === null ? host.cpu : millicores(decision.cpuCapMillicores),
    memoryCap: decision.memoryCapMiB === null ? host.memory : mebibytes(decision.memoryCapMiB),
    controlShare: decision.controlShare,
    controlSamples: decision.controlSamples,
    sloFactor: decision.sloFactor,
    memoryPolicy: memory.policy,
    cpuReserve: millicores(decision.cpuReserveMillicores),
    memoryReserve: mebibytes(decision.memoryReserveMiB),
    alpha: weight.alpha,
    referenceCpuTime: millis(weight.referenceMs ?? 0),
    slowdownBound: weight.slowdownBound,
    reactionTime: millis(Math.max(FIXED.reactionTime, sampleMillis + RAISE_MILLIS)),
    midRun: true,
    maxFunctions: decision.maxFunctions,
  };
}

/** The configuration's own defaults. */
export const defaultDecisionSettings = decisionSettings(
  defaultConfig.decision,
  defaultConfig.hook.sampleMs,
  CAP_WITHOUT_HOST,
);

/** The published rules exactly: whole cores, 64 MB units, caps of eight units [Freyr]. */
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
