import { changedTogether, isChanged, MIN_SEEDS, pairedWith } from '../../statistics.js';
import type { Comparison, MetricInfo, Row, Section } from '../comparison.js';
import { aboutOf } from './about.js';
import { type ChangeRating, changeText, figure, judge, percentage, valueText } from './figures.js';

/** What contenders are ranked by. */
export const RANKED_BY = 'service.mean';

/** Contenders proper, the best first. */
export function ranking({ rows }: Section): Row[] {
  return rows.filter(({ isNoise }) => !isNoise).sort((a, b) => mean(a) - mean(b));
}

const mean = (row: Row): number => row.figures[RANKED_BY]!.mean;

/** A figure's change against `fixed`, on its own. */
export const rate = (row: Row, metric: Pick<MetricInfo, 'key' | 'better'>): ChangeRating =>
  judge(row.paired![metric.key]!, metric);

/**
 * Those that the seeds do not tell apart from the first. Each is compared with 1/(their number) of
 * the 5 %, so that the truly best is the first or among them with 95 %, although the seeds chose
 * the first.
 */
export function indistinguishable([first, ...others]: readonly Row[]): Row[] {
  if (first === undefined) return [];
  return others.filter((row) => {
    const change = pairedWith(row.values[RANKED_BY]!, first.values[RANKED_BY]!, 0);
    return !isChanged(change, others.length);
  });
}

/** Said beside all 95 % intervals if there are too few seeds; null: there are enough. */
export function fewSeedsWarning(seeds: number): string | null {
  if (seeds >= MIN_SEEDS) return null;
  if (seeds === 1)
    return `One seed has no intervals: use --seeds ${MIN_SEEDS} before you believe a difference.`;
  return `${seeds} seeds tell nothing apart: use --seeds ${MIN_SEEDS} or more.`;
}

/** Contenders proper but `fixed` itself, the best first. */
export const challengers = (section: Section): Row[] =>
  ranking(section).filter(({ name }) => name !== 'fixed');

/**
 * The comparisons with `fixed` that the ranking rests on. All are claimed together: on its own, the
 * best of twenty that are as `fixed` would often pass for better.
 */
export function againstFixed(rows: readonly Row[]): ReadonlyMap<Row, ChangeRating> {
  const changes = rows.map((row) => row.paired![RANKED_BY]!);
  const changed = changedTogether(changes);
  return new Map(rows.map((row, i) => [row, judge(changes[i]!, { better: 'lower' }, changed[i]!)]));
}

/** What failed is in no mean slowdown: who fails more than `fixed` cannot win by that mean. */
const FAILED = 'failed.share';
const failsMore = (row: Row): boolean => rate(row, { key: FAILED, better: 'lower' }) === 'worse';

const named = (rows: readonly Row[]): string =>
  rows.map((row) => `${row.name} ${changeText(row.paired![RANKED_BY]!, { unit: '' })}`).join('; ');

/** Who wins in a section, why, and who is slower than `fixed`: sentences. */
export function verdict(section: Section, metrics: Comparison['metrics']): string[] {
  const fixed = section.rows[0]!;
  const contenders = challengers(section);
  const ratings = againstFixed(contenders);
  const slower = contenders.filter((row) => ratings.get(row) === 'worse');
  const failing = contenders.filter((row) => ratings.get(row) === 'better' && failsMore(row));
  const first = contenders.find((row) => !failing.includes(row));
  if (first === undefined || ratings.get(first) !== 'better')
    return [...withoutWinner(fixed, contenders, slower), ...failingSentence(fixed, failing)];
  const same = indistinguishable(contenders.slice(contenders.indexOf(first)));
  const about = aboutOf(first.name);
  const sentences = [
    `${first.name} wins${about === undefined ? '' : ` (${about})`}: mean slowdown of waiting and ` +
      `running ${figure(mean(fixed))} → ${figure(mean(first))}, ` +
      `${changeText(first.paired![RANKED_BY]!, { unit: '' })}.` +
      (same.length > 0
        ? ` Not told apart from it: ${same.map(({ name }) => name).join(', ')}.`
        : ''),
    ...why(first, fixed, metrics),
    slowdownSentence(first),
    slower.length === 0 ? '' : `Slower than fixed: ${named(slower)}.`,
    ...failingSentence(fixed, failing),
  ];
  return sentences.filter((sentence) => sentence !== '');
}

function failingSentence(fixed: Row, failing: readonly Row[]): string[] {
  if (failing.length === 0) return [];
  const share = (row: Row): string => percentage(row.figures[FAILED]!.mean);
  const rows = failing.map((row) => `${row.name} ${share(row)}`).join(', ');
  return [`Faster where they succeed, but more activations fail (fixed ${share(fixed)}): ${rows}.`];
}

/**
 * No contender is faster than `fixed`: a contender that is slower is never passed over in silence.
 */
function withoutWinner(fixed: Row, contenders: readonly Row[], slower: readonly Row[]): string[] {
  const slowdown = figure(mean(fixed));
  const level = `fixed has a mean slowdown of waiting and running of ${slowdown}, the oracle 1`;
  if (slower.length === 0) return [`No contender can be told apart from fixed: ${level}.`];
  const last = slower.at(-1)!;
  const worstContender =
    last.victims.judged === 0 ? [] : [`Under ${last.name}: ${slowdownSentence(last)}`];
  if (slower.length === contenders.length) {
    const who =
      contenders.length === 1 ? 'The only contender is' : `All ${contenders.length} contenders are`;
    return [`${who} slower than fixed: ${named(slower)}; ${level}.`, ...worstContender];
  }
  return [
    `No contender is faster than fixed, and ${slower.length} of ${contenders.length} ` +
      `${slower.length === 1 ? 'is' : 'are'} slower: ${named(slower)}; ${level}.`,
    ...worstContender,
  ];
}

/** What explains a mean slowdown, and what it may cost, in the order in which it is looked at. */
const EXPLAINING = [
  'service.slow',
  'service.p99',
  'response.mean',
  'response.p50',
  'response.p99',
  'wait.mean',
  'cold.share',
  'oom.kills',
  'failed.share',
  'saved.seconds',
];
/** Smaller changes explain nothing. */
const NOTABLE = 0.02;

/** What got better, and what worse, as far as the seeds tell. */
function why(first: Row, fixed: Row, metrics: Comparison['metrics']): string[] {
  const changes = (direction: 'better' | 'worse'): string[] =>
    EXPLAINING.flatMap((key) => {
      const metric = metrics.find((one) => one.key === key);
      if (metric === undefined || rate(first, metric) !== direction) return [];
      const before = fixed.figures[key]!.mean;
      const after = first.figures[key]!.mean;
      if (Math.abs(after - before) < NOTABLE * Math.abs(before)) return [];
      return [`${metric.title} ${valueText(before, metric)} → ${valueText(after, metric)}`];
    });
  const [better, worse] = [changes('better'), changes('worse')];
  return [
    ...(better.length === 0 ? [] : [`Why: ${better.join('; ')}.`]),
    ...(worse.length === 0 ? [] : [`At a price: ${worse.join('; ')}.`]),
  ];
}

function slowdownSentence({ victims }: Row): string {
  const { judged, slowedDown, spedUp, worst } = victims;
  if (judged === 0) return '';
  const counts =
    `Of ${judged} functions ${spedUp} are faster by more than a fifth and ` +
    `${slowedDown} slower by more than a quarter`;
  const [mostSlowed] = worst;
  if (mostSlowed === undefined || mostSlowed.ratio <= 1) return `${counts}.`;
  return (
    `${counts}; the worst off is ${mostSlowed.name}, mean slowdown ` +
    `${figure(mostSlowed.fixed)} → ${figure(mostSlowed.slowdown)} ` +
    `(+${percentage(mostSlowed.ratio - 1)}).`
  );
}

/** A comparison as files and programs get it: with the sentences that people read. */
export interface ComparisonWithVerdicts extends Comparison {
  readonly warnings: readonly string[];
  readonly sections: readonly (Section & { readonly verdict: readonly string[] })[];
}

export function withVerdicts(comparison: Comparison): ComparisonWithVerdicts {
  const fewSeeds = fewSeedsWarning(comparison.seeds.length);
  return {
    ...comparison,
    warnings: fewSeeds === null ? [] : [fewSeeds],
    sections: comparison.sections.map((section) => ({
      ...section,
      verdict: verdict(section, comparison.metrics),
    })),
  };
}
