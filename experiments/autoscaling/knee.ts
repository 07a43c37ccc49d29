import { SeededRandom } from '../../config/index.js';
import { quantileOf } from '../statistics.js';
import { SIMPPO_SIZES } from './agent/settings.js';
import { FunctionQueue } from './function-queue.js';
import { RateSource } from './rates.js';
import type { ScaledFunction } from './scaled-function.js';

/** Containers of the first size that a function has for itself while its curve is taken. */
const CONTAINERS = 2;
/** Loads of the curve, as shares of what these containers can do. */
const LOADS = Array.from({ length: 19 }, (_, i) => 0.05 * (i + 1));
/** Activations behind each point. */
const ACTIVATIONS = 10_000;
const STEP = 10_000;

export interface CurvePoint {
  readonly load: number;
  /** p99 of the response time, ms. */
  readonly tail: number;
}

/** Tail latency over throughput of an isolated function [SIMPPO]. */
function tailCurve(
  fn: ScaledFunction,
  loads: readonly number[] = LOADS,
  containers = CONTAINERS,
): CurvePoint[] {
  const rate = Math.min(SIMPPO_SIZES.first.cpu / 1000, fn.parallelism);
  const activation = fn.meanCpu / rate + fn.meanIo;
  return loads.map((load) => {
    const perSecond = (1000 * load * containers) / activation;
    const queue = new FunctionQueue(fn);
    const times: number[] = [];
    queue.sink = (millis) => times.push(millis);
    queue.reset(
      new RateSource([perSecond]),
      new SeededRandom(1).fork(`${fn.name} ${load}`),
      containers,
    );
    for (let at = 0; times.length < ACTIVATIONS; at += STEP) {
      queue.window.clear();
      queue.advance(at, at + STEP, rate, Number.POSITIVE_INFINITY, 0);
    }
    times.sort((a, b) => a - b);
    return { load, tail: quantileOf(times, 0.99) };
  });
}

/**
 * The knee of a rising, convex curve: where it is farthest below the straight line between its ends
 * (Satopää et al. 2011, both axes scaled to 0..1).
 */
export function kneeOf(curve: readonly CurvePoint[]): CurvePoint {
  const first = curve[0]!;
  const last = curve.at(-1)!;
  const depth = ({ load, tail }: CurvePoint): number =>
    (load - first.load) / (last.load - first.load) - (tail - first.tail) / (last.tail - first.tail);
  return curve.reduce((best, point) => (depth(point) > depth(best) ? point : best));
}

const objectives = new Map<string, number>();

/** A function's SLO, ms: the tail latency at the knee of its isolated curve. */
export function kneeObjective(fn: ScaledFunction): number {
  const key = `${fn.name} ${fn.meanCpu}`;
  let slo = objectives.get(key);
  if (slo === undefined) {
    slo = kneeOf(tailCurve(fn)).tail;
    objectives.set(key, slo);
  }
  return slo;
}
