import { goalLines, type SeededStudy } from '../reproduction.js';
import { clampInterval, type Interval, MIN_SEEDS } from '../statistics.js';
import {
  BAD_BELOW,
  COUNTED,
  concurrencyStudy,
  JUDGED,
  LATE,
  LEARNED_AT,
  STUDY_NOISE,
  type StudyRow,
  type StudyVerdict,
  studyVerdicts,
} from './study.js';
import { SURFACES } from './surface.js';

const between = ({ mean, low, high }: Interval, digits: number): string =>
  `${mean.toFixed(digits)} (${low.toFixed(digits)}-${high.toFixed(digits)})`;
const share = (value: Interval): string => between(clampInterval(value, 0, 1), 3);
const count = (value: Interval): string => between(clampInterval(value, 0), 0);

const tableOf = (rows: readonly StudyRow[]): string[] => [
  '| surface | search | found | late throughput | bad iterations | of these late |',
  '|---|---|---|---|---|---|',
  ...rows.map(
    ({ surface, contender, found, settled, late, bad, lateBad }) =>
      `| ${surface} | ${contender} | ${found} of ${settled.length} | ${share(late)} | ` +
      `${count(bad)} | ${count(lateBad)} |`,
  ),
];

const places = (verdicts: readonly StudyVerdict[]): string =>
  verdicts.length === 0
    ? 'nowhere'
    : verdicts.map(({ surface, start }) => `${surface} from ${start}`).join(', ');

/** docs/results/concurrency.md: what came of `command`. */
function concurrencyReport(
  rows: readonly StudyRow[],
  verdicts: readonly StudyVerdict[],
  command: string,
): string {
  const starts = [...new Set(rows.map(({ start }) => start))];
  const seeds = rows[0]?.settled.length ?? 0;
  const yes = (key: 'finds' | 'beatsConstant' | 'fewerBad') =>
    verdicts.filter((verdict) => verdict[key]);
  const no = (key: 'finds' | 'beatsConstant' | 'fewerBad') =>
    verdicts.filter((verdict) => !verdict[key]);
  const goals =
    seeds < MIN_SEEDS
      ? goalLines([], seeds)
      : [
          `- Found in 90 % of the seeds: ${yes('finds').length} of ` +
            `${verdicts.length}; missed: ${places(no('finds'))}.`,
          `- Late throughput above constant 100's, told apart: ${yes('beatsConstant').length} of ` +
            `${verdicts.length}; missed: ${places(no('beatsConstant'))}.`,
          `- Fewer bad iterations than hill climbing: ${places(yes('fewerBad'))}; not fewer, or ` +
            `not told apart: ${places(no('fewerBad'))}.`,
        ];
  return `${[
    '# What the concurrency tuner finds',
    '',
    `Written by \`${command}\`; the same figures anywhere. Searches of ` +
      `agents/tuning/concurrency on curves (experiments/concurrency), each seed ${LATE.to} ` +
      'judged steps of',
    '30 s under a load that always fills the limit; noise of ' +
      `${100 * STUDY_NOISE.throughput} % (sd) on a measured throughput and ` +
      `${STUDY_NOISE.share} on CPU and memory`,
    'shares. Limits 10, 30, ..., 310. Figures of real containers: concurrency-real.md.',
    '',
    ...SURFACES.map(
      ({ name, about }) =>
        `- **${name}**: ${about}${JUDGED.some((judged) => judged === name) ? '' : '; not judged'}.`,
    ),
    '',
    `*Found*: seeds with at least ${100 * BAD_BELOW} % of the best throughput after ` +
      `${LEARNED_AT} iterations, in the mean of the last ${COUNTED} of 40 more; Q-tables are ` +
      'followed without exploring, the others go on as they are. ' +
      '*Late throughput*: mean over',
    `iterations ${LATE.from} to ${LATE.to} as a share of the best limit's, exploring ` +
      `included. *Bad*: iterations of the first ${LEARNED_AT} at a limit that brings less ` +
      `than ${100 * BAD_BELOW} % of the best;`,
    `*late*: those from ${LATE.from} on. Means over seeds, Student's 95 % intervals; goals are ` +
      'judged by the differences of the same seeds.',
    '',
    ...starts.flatMap((start) => [
      `## From limit ${start}, ${seeds} seeds`,
      '',
      ...tableOf(rows.filter((row) => row.start === start)),
      '',
    ]),
    '## Goals (q-learning on the judged surfaces)',
    '',
    ...goals,
    '',
    '## How to read it',
    '',
    "- `q-published` is the paper's rule. Its table has a row for each (limit, CPU bin, " +
      'memory bin), rewards are relative to the best so far *at the time*, and an',
    '  untried action is worth nothing: what is tried first is kept. `q-learning` ' +
      'repeats the same update in each iteration for all that is known',
    '  (Dyna-Q), so old rewards are corrected and one bin learns from the other. All ' +
      'else is the same: alpha, gamma, epsilon, bins, reward.',
    '- Q-learning explores at random for 50 iterations, then in a share of them that falls by ' +
      '.5 % per iteration: 29 % at 300, 10 % from 510 on. Hill climbing never stops.',
    '- An iteration is a judged step. After a change of the limit one step of 30 s settles and ' +
      'is not judged, so a search that changes it each time takes twice as long.',
    '- The published claim (average throughput above the constant 100) has no public ' +
      'figures; profile 7 was best at 70, profile 10 at 10.',
    '- `plateau-100`: where the constant is already as good as can be, exploring only costs.',
  ].join('\n')}\n`;
}

/** First limits of the tuners: Knative's default, and the upper end. */
const STARTS = [100, 310];

export const concurrencyReproduction: SeededStudy = {
  name: 'concurrency',
  description:
    "Schuler's Q-learning of the concurrency limit on response surfaces, with a constant " +
    'limit and hill climbing (15 s)',
  firstSeed: 1,
  seeds: 20,
  quickSeeds: 5,
  run({ seeds, quick, command }) {
    const rows = concurrencyStudy({ seeds, starts: quick ? STARTS.slice(0, 1) : STARTS });
    const verdicts = studyVerdicts(rows);
    return {
      markdown: concurrencyReport(rows, verdicts, command),
      figures: { rows, verdicts },
      missed: verdicts.flatMap(({ surface, start, finds, beatsConstant }) => [
        ...(finds ? [] : [`${surface} from ${start}: not found in 90 % of the seeds`]),
        ...(beatsConstant ? [] : [`${surface} from ${start}: not above constant 100`]),
      ]),
    };
  },
};
