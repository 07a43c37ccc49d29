import { defaultConfig } from '../../config/index.js';
import { goalLines, type SeededStudy } from '../reproduction.js';
import type { Interval } from '../statistics.js';
import {
  ALLOWED,
  NEW_FUNCTION_SHAPE,
  type NewFunctionRequest,
  type NewFunctionRun,
  type NewFunctionTable,
  newFunctionStudy,
  newFunctionTables,
} from './study.js';

/** Of a p99: unknown where a run had no activation in the time. */
const text = (p99: number): string => (Number.isNaN(p99) ? '–' : p99.toFixed(3));
const number = ({ mean, low, high }: Interval): string =>
  Number.isNaN(mean) ? '–' : `${text(mean)} (${text(low)} to ${text(high)})`;

/**
 * Missed goals. Every seed counts: without Gleaner failures give a few seeds a p99 of hundreds,
 * beside which the mean shows no loss of the others.
 */
function newFunctionMissed(runs: readonly NewFunctionRun[]): string[] {
  return newFunctionTables(runs).flatMap(({ mode, rows, runs: seeds }) => {
    const aware = rows.find(({ contender }) => contender === 'aware')!;
    if (aware.within === seeds) return [];
    const within = `${aware.within} of ${seeds} seeds`;
    return [`${mode} mode: p99 while learning at most ${ALLOWED} above doing nothing in ${within}`];
  });
}

/** What came of `command`; docs/results/new-function.md quotes it. */
export function newFunctionReport(
  runs: readonly NewFunctionRun[],
  { before, after, load, seeds }: NewFunctionRequest,
  command: string,
): string {
  const missed = newFunctionMissed(runs);
  const { hosts, cores } = NEW_FUNCTION_SHAPE;
  return `${[
    '# A new function in a running system',
    '',
    `p99 slowdown of a new function while its agent learns; goal: at most ${ALLOWED} above doing ` +
      'nothing, in every seed.',
    '',
    `Written by \`${command}\`; the same figures on every machine. \`profiles-12\` on ${hosts} ` +
      `host of ${cores} cores at offered load ${load}; one function arrives ${before} minutes ` +
      `later and is watched for ${after} minutes.`,
    'Slowdown of waiting for a container and running, against no contention, from its first ' +
      'activation until `aware` serves; a failed activation counts as one that took its whole ' +
      'time limit.',
    `${seeds.length} seeds (${seeds.join(', ')}), the same activations for all; means over seeds ` +
      "with Student's 95 % intervals.",
    '',
    '- `do-nothing`: a host without Gleaner. In all others the functions that run already are ' +
      'under the fallback.',
    `- \`fallback\`: user limits, and weights by \`${defaultConfig.decision.policy.weight}\`. ` +
      '`aware`: the fallback until the agent would earn as much; then the agent, guarded.',
    '- `constant`: twice the weight, or the smallest quota that the safeguard allows.',
    '',
    '| mode | contender | p99 slowdown while learning | median of seeds | less do-nothing | ' +
      'seeds within | failures |',
    '|---|---|---|---|---|---|---|',
    ...newFunctionTables(runs).flatMap(rowsOf),
    '',
    'Goal, in every seed:',
    '',
    ...goalLines(missed, seeds.length),
    '',
    '| mode | seed | new function | activations | learning, min | decisions by phase | changes | ' +
      'do-nothing | fallback | aware | after learning: do-nothing, aware |',
    '|---|---|---|---|---|---|---|---|---|---|---|',
    ...runs.map(runRow),
  ].join('\n')}\n`;
}

const rowsOf = ({ mode, rows, runs }: NewFunctionTable): string[] =>
  rows.map(
    ({ contender, p99, median, difference, within, failures }) =>
      `| ${mode} | ${contender} | ${number(p99)} | ${text(median)} | ${number(difference)} | ` +
      `${within} of ${runs} | ${failures} |`,
  );

function runRow({
  mode,
  seed,
  newFunction,
  activations,
  learning,
  served,
  phases,
  changes,
  figures,
  afterwards,
}: NewFunctionRun): string {
  const cells = [
    mode,
    seed,
    newFunction,
    activations,
    `${learning.toFixed(0)}${served ? '' : ', not over'}`,
    Object.entries(phases)
      .map(([name, count]) => `${name} ${count}`)
      .join(', '),
    changes.length === 0 ? 'none' : changes.join('; '),
    ...(['do-nothing', 'fallback', 'aware'] as const).map((one) => text(figures[one].p99)),
    afterwards === null ? '' : `${afterwards.doNothing.toFixed(3)}, ${afterwards.aware.toFixed(3)}`,
  ];
  return `| ${cells.join(' | ')} |`;
}

/** Agents of functions with an activation per second reach the phase serving in this time. */
const SIZE = {
  modes: ['weight', 'quota'],
  before: 20,
  after: 160,
  load: 0.7,
} as const;
/** Ends while agents are offline. */
const QUICK = { ...SIZE, modes: ['quota'], before: 5, after: 30 } as const;

export const newFunctionReproduction: SeededStudy = {
  name: 'new-function',
  description:
    'slowdown of a new function while its agent learns, against doing nothing, the fallback ' +
    'alone and the best constant (6 min; --quick: 10 s)',
  firstSeed: 1,
  seeds: 10,
  quickSeeds: 1,
  run({ seeds, quick, command, onRun }) {
    const request = { ...(quick ? QUICK : SIZE), seeds };
    const runs = newFunctionStudy({ ...request, onRun });
    return {
      markdown: newFunctionReport(runs, request, command),
      figures: { runs, tables: newFunctionTables(runs) },
      missed: newFunctionMissed(runs),
    };
  },
};
