import type { Observation } from '../../../broker/messages/index.js';
import { MIB } from '../../../config/index.js';
import { clip, sloPreservation, tailOf } from '../../features.js';
import { publishedReward } from '../../simppo/index.js';

/** One control step; latencies in any one unit, CPU in cores, memory in MiB. */
export interface MetaStep {
  /** Shares of the allocation, 0 to 1. */
  readonly cpuUtilization: number;
  readonly memoryUtilization: number;
  /** min(1, SLO / p99). */
  readonly preservation: number;
  readonly slo: number;
  readonly p99: number;
  /** Size of one container, and how many there are. */
  readonly allocation: {
    readonly cpu: number;
    readonly memory: number;
    readonly containers: number;
  };
  /** Activations a second. */
  readonly rate: number;
  /** Share of an activation's time in which it does not compute. */
  readonly waiting: number;
  /** CPU use of all containers together. */
  readonly cpuUse: number;
  readonly oomKills: number;
}

/** The features, in the order of the encoder's and the base-learner's inputs [AWARE]. */
export const META_FEATURES = [
  'cpu utilization',
  'memory utilization',
  'SLO preservation',
  'headroom below the SLO',
  'cpu',
  'memory',
  'containers',
  'load',
  'load change',
  'waiting',
  'cpu demand',
  'killed',
] as const;

/** Largest sizes of the applications in training: the scales of three features. */
export const META_SCALE = { cpu: 2.048, memory: 1024, containers: 20 } as const;

const share = (part: number, whole: number): number => (whole > 0 ? part / whole : 0);

/** Activations a second as a slow mean, and of the step before; NaN: unknown. */
export interface KnownRates {
  readonly usual: number;
  readonly last: number;
}

export const NO_RATES: KnownRates = { usual: Number.NaN, last: Number.NaN };

/** Weight of the newest rate in the slow mean. */
const NEWEST = 0.02;

/** Writes the features of a step, each in [0, 1], and returns the rates for the next one. */
export function metaFeatures(step: MetaStep, known: KnownRates, to: Float32Array): KnownRates {
  const { allocation, rate } = step;
  const usual = Number.isNaN(known.usual) ? rate : known.usual + NEWEST * (rate - known.usual);
  const last = Number.isNaN(known.last) ? rate : known.last;
  to[0] = clip(step.cpuUtilization);
  to[1] = clip(step.memoryUtilization);
  to[2] = clip(step.preservation);
  to[3] = clip(0.5 + 0.25 * Math.log2(step.slo / step.p99));
  to[4] = clip(allocation.cpu / META_SCALE.cpu);
  to[5] = clip(allocation.memory / META_SCALE.memory);
  to[6] = clip(allocation.containers / META_SCALE.containers);
  to[7] = clip(rate / Math.max(usual, 1e-9) / 2);
  to[8] = clip(rate / Math.max(last, 1e-9) / 2);
  to[9] = clip(step.waiting);
  to[10] = clip(0.5 + 0.1 * Math.log2(Math.max(step.cpuUse, 1e-3)));
  to[11] = step.oomKills > 0 ? 1 : 0;
  return { usual, last: rate };
}

export const metaReward = ({
  preservation,
  cpuUtilization,
  memoryUtilization,
}: Pick<MetaStep, 'preservation' | 'cpuUtilization' | 'memoryUtilization'>): number =>
  publishedReward(preservation, cpuUtilization, memoryUtilization);

/** What the CPU time does not explain counts as waiting, as a host does not observe waits. */
export function metaStepOf(observation: Observation): MetaStep {
  const { granted, user, used, activations, control, latency, slo, span } = observation;
  const cpu = granted.cpu.mean > 0 ? granted.cpu.mean : user.cpu;
  const memory = granted.memory.mean > 0 ? granted.memory.mean : user.memory;
  const tail = tailOf(latency);
  const known = slo !== undefined && tail > 0;
  const cpuUse = (used.cpu / 1000) * Math.max(1, observation.containers);
  const measured = latency.counts.reduce((sum, one) => sum + one, 0);
  const mean = measured > 0 ? latency.sum / Math.max(1, activations) : 0;
  const computing = activations > 0 ? (cpuUse * span) / activations : 0;
  return {
    cpuUtilization: clip(share(used.cpu, cpu)),
    memoryUtilization: clip(share(used.memory, memory)),
    preservation: clip(sloPreservation(observation)),
    slo: known ? slo : 1,
    p99: known ? tail : 1,
    allocation: { cpu: cpu / 1000, memory: memory / MIB, containers: observation.containers },
    rate: span > 0 ? (1000 * (activations + control.activations)) / span : 0,
    waiting: mean > 0 ? clip(1 - computing / mean) : 0,
    cpuUse,
    oomKills: observation.oomKills,
  };
}
