import { countText, goalLines, ratioText, type SeededStudy } from '../reproduction.js';
import { type Interval, isBelow } from '../statistics.js';
import {
  SIZING_ARMS,
  SIZING_FIGURES,
  type SizingFigure,
  type SizingRow,
  sizingStudy,
} from './study.js';

const signed = (value: number, digits = 0): string =>
  `${value > 0 ? '+' : ''}${value.toFixed(digits)}`;
const difference = ({ mean, low, high }: Interval): string =>
  `${signed(mean)} [${signed(low)}, ${signed(high)}]`;
const share = ({ mean }: Interval): string => `${(100 * mean).toFixed(1)} %`;

const against = (row: SizingRow, figure: SizingFigure): string => {
  const paired = row.paired?.[figure];
  if (paired === undefined) return '-';
  return paired.ratio === null ? difference(paired.difference) : ratioText(paired.ratio);
};

const tableOf = (rows: readonly SizingRow[]): string[] => [
  '| sizes written | actions | undone | cold starts, held out | of the activations |' +
    ' against none | of these, by new revisions at most | p99, s | against none | mean, ms |' +
    ' OOM kills, all seeds | estimate: saved |',
  '|---|---|---|---|---|---|---|---|---|---|---|---|',
  ...rows.map(
    (row) =>
      `| ${row.arm.name} | ${countText(row.changes)} | ${countText(row.undone)} |` +
      ` ${countText(row.figures.cold)} | ${share(row.figures.coldShare)} |` +
      ` ${against(row, 'cold')} | ${countText(row.costs)} |` +
      ` ${(row.figures.p99.mean / 1000).toFixed(1)} | ${against(row, 'p99')} |` +
      ` ${countText(row.figures.mean)} | ${row.ooms} |` +
      ` ${row.promised === null ? '-' : countText(row.promised)} |`,
  ),
];

/** The goal, fewer cold starts without OOM kills, and where it is missed. */
function sizingMissed(rows: readonly SizingRow[]): string[] {
  return rows.flatMap(({ userMemoryMiB, arm, paired, ooms, undone }) => {
    if (paired === null) return [];
    const where = `${userMemoryMiB} MiB, ${arm.name}`;
    return [
      ...(isBelow(paired.cold.difference, 0)
        ? []
        : [`${where}: cold starts not told apart as fewer`]),
      ...(ooms === 0
        ? []
        : [`${where}: ${ooms} activations killed (undone: ${undone.mean.toFixed(1)} a seed)`]),
    ];
  });
}

/** The page of `gleaner reproduce right-sizing`. */
function sizingReport(
  rows: readonly SizingRow[],
  about: {
    readonly command: string;
    readonly seeds: number;
    readonly hosts: number;
    readonly load: number;
  },
): string {
  const memories = [...new Set(rows.map(({ userMemoryMiB }) => userMemoryMiB))];
  const missed = sizingMissed(rows);
  return `${[
    '# What right-sizing brings and costs',
    '',
    `Written by \`${about.command}\`; every machine gets the same figures. The Azure sample of`,
    `2019, an hour at its recorded load (${about.load} of all cores), on ${about.hosts} simulated`,
    "hosts of eight cores; users keep OpenWhisk's 256 MB unless they need more. Weight mode,",
    `\`short-first\`; ${about.seeds} seeds, the same activations for all. The first half hour is`,
    'the evidence; **every figure is of the second**, in which the sizes are written and which no',
    "recommendation has seen. The product's evidence, recommendations, waves and undoing run",
    '(agents/tuning/sizing, openwhisk-plugin/openwhisk-api); a size holds from the next activation',
    'of a function on, an OOM kill undoes it at once.',
    '',
    ...SIZING_ARMS.map(({ name, about: text }) => `- **${name}**: ${text}.`),
    '',
    ...memories.flatMap((memory) => [
      `## ${memory} MiB of user-memory a host`,
      '',
      ...tableOf(rows.filter(({ userMemoryMiB }) => userMemoryMiB === memory)),
      '',
    ]),
    `Columns: ${Object.values(SIZING_FIGURES).join(', ')}; means over seeds, Student's 95 %`,
    'intervals, paired by seed in the columns *against none*: a ratio is the geometric mean of',
    'those of the seeds. *By new revisions at most*:',
    'containers that existed when their action changed, each at most one cold start, included in',
    'the cold starts. *Estimate*: what `gleaner actions recommend` would have predicted to save in',
    'this half hour.',
    '',
    '## Goal: fewer cold starts, no OOM kill',
    '',
    ...goalLines(missed, about.seeds),
    '',
    '## How to read it',
    '',
    '- The cost of a new revision is paid once, within this half hour.',
    '- After n activations the next one needs more than all before with probability 1 / (n + 1),',
    '  and the margin of 25 % does not cover every tail. The default is 200 activations *and* a',
    '  day.',
    '- An OOM kill is undone at once: their number is about the number of actions that were sized',
    '  too small, and not a continuing rate.',
    '- p99 of the response is that of the longest functions.',
    "- The estimate (Che's approximation, scaled to the observed cold starts) treats all hosts as",
    '  one.',
  ].join('\n')}\n`;
}

/** Load .25 is that of the recorded sample; memory is scarce to nearly ample. */
const SIZE = {
  hosts: 30,
  cores: 8,
  memoryMiB: 131_072,
  userMemoryMiB: [4096, 6144, 8192],
  load: 0.25,
} as const;
const QUICK = { ...SIZE, hosts: 6, functions: 200, userMemoryMiB: [6144] } as const;

export const rightSizingReproduction: SeededStudy = {
  name: 'right-sizing',
  description:
    'cold starts, response time and OOM kills before and after right-sizing, on the held-out ' +
    'half hour of the Azure sample (5 min; --quick: 10 s)',
  firstSeed: 1,
  seeds: 5,
  quickSeeds: 2,
  run({ seeds, quick, command, onRun }) {
    const size = quick ? QUICK : SIZE;
    const rows = sizingStudy({ ...size, seeds, onRun });
    const { hosts, load } = size;
    return {
      markdown: sizingReport(rows, { command, seeds: seeds.length, hosts, load }),
      figures: { rows },
      missed: sizingMissed(rows),
    };
  },
};
