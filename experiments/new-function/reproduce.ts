import type { Interval } from '../compare/index.js';
import type { SeededStudy } from '../reproduction.js';
import {
  ALLOWED,
  NEW_FUNCTION_SHAPE,
  type NewFunctionRequest,
  type NewFunctionRun,
  type NewFunctionTable,
  newFunctionStudy,
  newFunctionTables,
} from './study.js';

const number = ({ mean, low, high }: Interval): string =>
  `${mean.toFixed(3)} (${low.toFixed(3)} to ${high.toFixed(3)})`;

/** What was asked and not reached. */
function newFunctionMissed(runs: readonly NewFunctionRun[]): string[] {
  return newFunctionTables(runs).flatMap(({ mode, rows }) => {
    const aware = rows.find(({ contender }) => contender === 'aware')!;
    return aware.aboveSpread.mean <= ALLOWED
      ? []
      : [
          `${mode} mode: p99 while learning ${aware.aboveSpread.mean.toFixed(3)} above ` +
            "the fallback's own spread",
        ];
  });
}

/** docs/results/new-function.md: what came of `command`. */
export function newFunctionReport(
  runs: readonly NewFunctionRun[],
  { before, after, load, repeats, seeds }: NewFunctionRequest,
  command: string,
): string {
  const missed = newFunctionMissed(runs);
  const { hosts, cores } = NEW_FUNCTION_SHAPE;
  return `${[
    '# A new function in a running system',
    '',
    'What a function pays that is added to a system at work, while its agent learns: ' +
      'asked is a p99 within .05 of the spread of the fallback itself.',
    '',
    '## Simulated',
    '',
    `Written by \`${command}\`; the same figures anywhere. Twelve benchmarks ` +
      `(\`profiles-12\`) on ${hosts} host of ${cores} cores at offered load ${load}; one ` +
      `of them comes ${before} minutes later than the others and is`,
    `watched for ${after} minutes. The others are under the fallback (\`hpa-vpa\`) in ` +
      "every run, so nothing but the new function's manager differs: `fallback`, " +
      '`aware` (the same fallback until the agent would earn',
    'as much, then the agent, guarded), `simppo` (the shipped policy, which serves at ' +
      'once), `simppo-online` (the same, sampling and learning from its first call on). ' +
      'Policies: `short-first` in weight mode, `target` in quota mode.',
    '',
    'Slowdown of waiting for a container and running, against the same call without ' +
      'contention; over the learning time: from its first call until `aware` serves (or ' +
      `the end), the same calls for all. ${seeds.length} seeds (${seeds.join(', ')}), ` +
      'paired;',
    `the fallback's own spread: highest less lowest p99 of ${repeats} runs of the same ` +
      'calls with other placements and draws. Means over seeds, 95 % intervals ' +
      "(bootstrap). *Above*: p99 less the fallback's highest; at most .05 is asked.",
    '',
    '| mode | contender | p99 slowdown while learning | less the fallback, same draws | ' +
      'above its spread | runs within | failures |',
    '|---|---|---|---|---|---|---|',
    ...newFunctionTables(runs).flatMap(rowsOf),
    '',
    ...(missed.length === 0
      ? [
          '**Reached** in the mean over seeds: while it learns, `aware` stays within .05 ' +
            'of the spread. Where an interval reaches above .05 more seeds may say ' +
            'otherwise.',
        ]
      : ['**Missed**:', '', ...missed.map((text) => `- ${text}`)]),
    '',
    '| mode | seed | new function | calls | learning, min | phases (decisions) | changes ' +
      '| fallback | aware | after learning: fallback, aware |',
    '|---|---|---|---|---|---|---|---|---|---|',
    ...runs.map(runRow),
    '',
    '- Judged by the mean over seeds; single runs are in the tables. Offline `aware` is ' +
      'the fallback; it differs from it only while it is online, where its agent explores ' +
      'weights (or CPU).',
    '- The fallback keeps as few containers as their use needs, and calls wait for one: ' +
      'that is nearly all of its slowdown, and of that of `aware`, whose containers stay ' +
      'with the fallback. `simppo` leaves them to the platform. An',
    '  unmodified OpenWhisk makes containers by itself, so there that wait is not to be had.',
    '- *Failures* are calls that were killed or timed out, of all runs; their slowdown ' +
      'is not in the p99. The fallback raises memory as peaks rise; `simppo` leaves it at ' +
      'the user limit.',
  ].join('\n')}\n`;
}

function rowsOf({ mode, fallback, rows, runs }: NewFunctionTable): string[] {
  return [
    `| ${mode} | fallback | ${number(fallback.p99)} | spread ${number(fallback.spread)} ` +
      `| | | ${fallback.failures} |`,
    ...rows.map(
      ({ contender, p99, difference, aboveSpread, within, failures }) =>
        `| ${mode} | ${contender} | ${number(p99)} | ${number(difference)} | ` +
        `${number(aboveSpread)} | ${within} of ${runs} | ${failures} |`,
    ),
  ];
}

function runRow({
  mode,
  seed,
  newFunction,
  calls,
  learning,
  served,
  phases,
  changes,
  ...of
}: NewFunctionRun): string {
  const p99s = of.fallback.map(({ p99 }) => p99);
  const later = of.afterwards;
  const cells = [
    mode,
    seed,
    newFunction,
    calls,
    `${learning.toFixed(0)}${served ? '' : ', not over'}`,
    Object.entries(phases)
      .map(([name, count]) => `${name} ${count}`)
      .join(', '),
    changes.length === 0 ? 'none' : changes.join('; '),
    `${Math.min(...p99s).toFixed(3)} to ${Math.max(...p99s).toFixed(3)}`,
    of.others.aware.p99.toFixed(3),
    later === null ? '' : `${later.fallback.toFixed(3)}, ${later.aware.toFixed(3)}`,
  ];
  return `| ${cells.join(' | ')} |`;
}

/** Agents of functions with an activation per second reach the phase serving in this time. */
const SIZE = {
  modes: ['weight', 'quota'],
  before: 20,
  after: 240,
  load: 0.7,
  repeats: 2,
} as const;
/** Ends while agents are offline. */
const QUICK = { ...SIZE, modes: ['quota'], before: 5, after: 30 } as const;

export const newFunctionReproduction: SeededStudy = {
  name: 'new-function',
  description:
    'slowdown of a new function while its agent learns: aware, simppo and the fallback alone ' +
    '(10 min; --quick: 10 s)',
  firstSeed: 1,
  seeds: 5,
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
