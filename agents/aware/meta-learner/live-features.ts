import type { Observation } from '../../../broker/messages/index.js';
import { MIB } from '../../../config/index.js';
import { sloPreservation, tailOf } from '../../features.js';

/**
 * Features of one step as the meta-learner was taught them (experiments/aware/features.ts), in
 * their order.
 */
export const META_FEATURES = 12;
/** Its scales: the ranges of the applications that it was trained on. */
const CPU_MOST = 2048;
const MEMORY_MOST = 1024 * MIB;
const CONTAINERS_MOST = 20;

const clip = (value: number): number => (value > 0 ? Math.min(1, value) : 0);
const share = (part: number, whole: number): number => (whole > 0 ? part / whole : 0);

/** Activations a second as a slow mean, and of the step before; NaN: unknown. */
export interface KnownRates {
  readonly usual: number;
  readonly last: number;
}

const FORGET = 0.02;

export function ratesAfter({ usual }: KnownRates, rate: number): KnownRates {
  return { usual: Number.isNaN(usual) ? rate : usual + FORGET * (rate - usual), last: rate };
}

export const rateOf = ({ activations, control, span }: Observation): number =>
  span > 0 ? (1000 * (activations + control.activations)) / span : 0;

/**
 * A live step as the simulated one would have looked. A waiting share is not seen on a host: what
 * of a call's time its CPU time does not explain stands for it.
 */
export function metaFeatures(observation: Observation, { usual, last }: KnownRates): Float32Array {
  const { granted, user, used, containers, activations, latency, slo, span, oomKills } =
    observation;
  const cpu = granted.cpu.mean > 0 ? granted.cpu.mean : user.cpu;
  const memory = granted.memory.mean > 0 ? granted.memory.mean : user.memory;
  const rate = rateOf(observation);
  const tail = tailOf(latency);
  const busy = (used.cpu / 1000) * Math.max(1, containers);
  const called = latency.counts.reduce((sum, one) => sum + one, 0);
  const mean = called > 0 ? latency.sum / Math.max(1, activations) : 0;
  const computing = activations > 0 ? (busy * span) / activations : 0;
  return Float32Array.from([
    clip(share(used.cpu, cpu)),
    clip(share(used.memory, memory)),
    clip(sloPreservation(observation)),
    slo !== undefined && tail > 0 ? clip(0.5 + 0.25 * Math.log2(slo / tail)) : 0.5,
    clip(cpu / CPU_MOST),
    clip(memory / MEMORY_MOST),
    clip(containers / CONTAINERS_MOST),
    clip(rate / Math.max(Number.isNaN(usual) ? rate : usual, 1e-9) / 2),
    clip(rate / Math.max(Number.isNaN(last) ? rate : last, 1e-9) / 2),
    mean > 0 ? clip(1 - computing / mean) : 0,
    clip(0.5 + 0.1 * Math.log2(Math.max(busy, 1e-3))),
    oomKills > 0 ? 1 : 0,
  ]);
}

/**
 * .7 x SLO preservation + .3 x the mean of both utilizations (simppo-aware.md §1.6): what bundles
 * are sorted by, as in training.
 */
export const metaReward = (features: Float32Array): number =>
  0.7 * features[2]! + 0.15 * (features[0]! + features[1]!);
