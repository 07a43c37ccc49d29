import { type Random, SeededRandom } from '../../config/index.js';
import type { Shape } from './azure-shapes.js';
import { MINUTE, RateSource } from './rates.js';
import type { ScaledFunction } from './scaled-function.js';

export interface EpisodePlan {
  readonly functions: readonly ScaledFunction[];
  readonly shapes: readonly Shape[];
  /** CPU work that arrives / what the cores can do, over the episode. */
  readonly load: number;
  readonly cores: number;
  readonly spanMs: number;
}

/** Arrivals of one episode. */
export interface EpisodeArrivals {
  readonly seed: number;
  readonly rates: readonly RateSource[];
  /** Activations a second, mean over the episode. */
  readonly means: readonly number[];
}

/**
 * Each function is called by the pattern of a trace, from any minute on, its mean rate its own of
 * the workload; then all rates together are brought to the load, so that each episode offers just
 * that. The same seed, the same episode.
 */
export function drawEpisode(
  { functions, shapes, load, cores, spanMs }: EpisodePlan,
  seed: number,
): EpisodeArrivals {
  const random = new SeededRandom(seed).fork('arrivals');
  const minutes = Math.ceil(spanMs / MINUTE);
  const patterns = functions.map((fn) => pattern(shapes, minutes, random.fork(fn.name)));
  const share = (minute: number): number => Math.min(1, spanMs / MINUTE - minute);
  const meanOf = (rates: readonly number[]): number =>
    (rates.reduce((sum, rate, minute) => sum + rate * share(minute), 0) * MINUTE) / spanMs;
  const raw = functions.map((fn, i) => fn.perSecond * meanOf(patterns[i]!));
  const work = functions.reduce((sum, fn, i) => sum + (raw[i]! * fn.meanCpu) / 1000, 0);
  const factor = (load * cores) / work;
  return {
    seed,
    rates: functions.map(
      (fn, i) => new RateSource(patterns[i]!.map((of) => of * fn.perSecond * factor)),
    ),
    means: raw.map((rate) => rate * factor),
  };
}

function pattern(shapes: readonly Shape[], minutes: number, random: Random): number[] {
  const shape = shapes[random.below(shapes.length)]!;
  const first = random.below(shape.length);
  return Array.from({ length: minutes }, (_, i) => shape[(first + i) % shape.length]!);
}
