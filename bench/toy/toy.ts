import { defaultEngine } from '../../agents/nn/index.js';
import { deviation, mean } from '../../experiments/statistics.js';
import { type BenchRow, row, within } from '../report.js';
import type { ToyOptions } from './cluster.js';
import { doNothing, hpa, runRule, type ToyResult, type ToyRule, trainToy } from './train.js';

/** Reward of doing nothing on the published cluster of one function; checks the model. */
const PUBLISHED_IDLE = 0.83;

/** One function alone: eight cores, arrivals 1..8. */
export const ONE: ToyOptions = { functions: 1, cores: 8, maxArrivalRate: 8, price: false };
/** Six functions that share fourteen cores: their work fits, their highest requests do not. */
export const SIX: ToyOptions = { functions: 6, cores: 14, maxArrivalRate: 3, price: true };

interface ToyBench {
  readonly quick: boolean;
  readonly log: (line: string) => void;
}

/** The extended toy: seeds 1 to 5; with `quick`, two seeds and half the steps. */
export function benchToy({ quick, log }: ToyBench): BenchRow[] {
  const engine = defaultEngine(log);
  const seeds = quick ? [1, 2] : [1, 2, 3, 4, 5];
  const alone = quick ? 20_000 : 40_000;
  const together = quick ? 10_000 : 20_000;
  const rule = (of: ToyRule, options: ToyOptions): number =>
    mean(seeds.map((seed) => runRule(of, options, seed, alone)));
  const train = (
    what: string,
    options: ToyOptions,
    steps: number,
    meanField: boolean,
  ): ToyResult[] =>
    seeds.map((seed) => {
      const result = trainToy({ ...options, engine, seed, steps, meanField });
      log(
        `${what}, seed ${seed}: ${result.raw.toFixed(3)}; ` +
          `by tenths ${result.curve.map((x) => x.toFixed(3)).join(' ')}`,
      );
      return result;
    });

  const idle = rule(doNothing, ONE);
  const scaled = rule(hpa, ONE);
  const single = train('one function', ONE, alone, false);
  const training = single.map((result) => result.training);
  const rows: BenchRow[] = [
    within(
      'toy.one.do-nothing',
      idle,
      PUBLISHED_IDLE,
      0.1,
      'reward',
      'the toy cluster is not the published one',
    ),
    row('toy.one.hpa', scaled, 'reward', { note: 'published .852' }),
    row('toy.one.ppo', mean(training), 'reward', {
      baseline: scaled,
      goal: '>= .90, above both',
      note:
        `${seeds.length} seeds, ${alone} steps, last tenth, exploring, penalties included: ` +
        training.map((x) => x.toFixed(3)).join(' '),
    }),
    row('toy.one.ppo.sd', deviation(training), 'reward', { goal: '<= .02' }),
    row('toy.one.ppo.worst', Math.min(...training), 'reward', { goal: '>= .90' }),
    row('toy.six.do-nothing', rule(doNothing, SIX), 'reward', { note: 'published .820' }),
    row('toy.six.hpa', rule(hpa, SIX), 'reward', { note: 'published .827' }),
  ];
  const variants = [
    ['toy.six.price', true, false, 'published .909 (util .76, SP .98)'],
    ['toy.six.price.mean-field', true, true, 'published .900'],
    ['toy.six.no-price', false, false, 'the arms race; published .616 (util .08, SP .85)'],
    ['toy.six.no-price.mean-field', false, true, 'published .620'],
  ] as const;
  for (const [name, price, meanField, note] of variants) {
    const results = train(name, { ...SIX, price }, together, meanField);
    const raw = results.map((result) => result.raw);
    const of = (key: 'utilization' | 'sloPreservation'): string =>
      mean(results.map((r) => r[key])).toFixed(2);
    rows.push(
      row(name, mean(raw), 'reward', {
        ...(price ? { goal: '>= .87' } : {}),
        note:
          `sd ${deviation(raw).toFixed(3)}, util ${of('utilization')}, ` +
          `SP ${of('sloPreservation')}; ${note}`,
      }),
    );
  }
  return rows;
}
