import { bootstrapMean, type Comparison, type Row, type Section } from '../../simulator/index.js';
import { ABOUT } from './about.js';
import { changeText, figure, judge, percentage, valueText } from './figures.js';

/** What contenders are ranked by. */
export const RANKED_BY = 'service.mean';

/** Contenders proper, the best first. */
export function ranking({ rows }: Section): Row[] {
  return rows.filter(({ isNoise }) => !isNoise).sort((a, b) => mean(a) - mean(b));
}

const mean = (row: Row): number => row.figures[RANKED_BY]!.mean;

/** Those that the seeds do not tell apart from the first. */
export function notToldApart([first, ...others]: readonly Row[]): Row[] {
  if (first === undefined) return [];
  return others.filter((row) => {
    const { low, high } = bootstrapMean(row.values[RANKED_BY]!.map((value, i) => value - first.values[RANKED_BY]![i]!));
    return low <= 0 && high >= 0;
  });
}

/** Who wins in a section, and why: sentences. */
export function verdict(section: Section, metrics: Comparison['metrics']): string[] {
  const ranked = ranking(section);
  const first = ranked[0]!;
  const fixed = section.rows[0]!;
  if (
    first.name === 'fixed' ||
    first.paired === undefined ||
    judge(first.paired[RANKED_BY]!, { better: 'lower' }) !== 'better'
  )
    return [
      `Nobody is told apart from fixed: mean slowdown of waiting and running ${figure(mean(fixed))}, against 1 of the oracle.`,
    ];
  const same = notToldApart(ranked).filter(({ name }) => name !== 'fixed');
  const about = ABOUT[first.name];
  const sentences = [
    `${first.name} wins${about === undefined ? '' : ` (${about})`}: mean slowdown of waiting and running ${figure(mean(fixed))} → ${figure(mean(first))}, ${changeText(first.paired[RANKED_BY]!, { unit: '' })}.` +
      (same.length > 0 ? ` Not told apart from it: ${same.map(({ name }) => name).join(', ')}.` : ''),
    ...why(first, fixed, metrics),
    pays(first),
  ];
  return sentences.filter((sentence) => sentence !== '');
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
  const changes = (wanted: 'better' | 'worse'): string[] =>
    EXPLAINING.flatMap((key) => {
      const metric = metrics.find((one) => one.key === key);
      const change = first.paired?.[key];
      if (metric === undefined || change === undefined || judge(change, metric) !== wanted) return [];
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

function pays({ victims }: Row): string {
  const { judged, paying, gaining, worst } = victims;
  if (judged === 0) return '';
  const counts = `Of ${judged} functions ${gaining} are faster by more than a fifth and ${paying} slower by more than a quarter`;
  const [victim] = worst;
  if (victim === undefined || victim.ratio <= 1) return `${counts}.`;
  return `${counts}; the worst off is ${victim.name}, mean slowdown ${figure(victim.fixed)} → ${figure(victim.slowdown)} (+${percentage(victim.ratio - 1)}).`;
}
