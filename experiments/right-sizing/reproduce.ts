import type { Interval } from '../compare/index.js';
import { SIZING_ARMS, SIZING_FIGURES, type SizingFigure, type SizingRow } from './study.js';

const whole = ({ mean, low, high }: Interval): string =>
  low === high ? mean.toFixed(0) : `${mean.toFixed(0)} (${low.toFixed(0)}-${high.toFixed(0)})`;
const signed = (value: number, digits = 0): string =>
  `${value > 0 ? '+' : ''}${value.toFixed(digits)}`;
const difference = ({ mean, low, high }: Interval): string =>
  `${signed(mean)} [${signed(low)}, ${signed(high)}]`;
const share = ({ mean }: Interval): string => `${(100 * mean).toFixed(1)} %`;
const ratio = ({ mean, low, high }: Interval): string =>
  `${mean.toFixed(3)}x [${low.toFixed(3)}, ${high.toFixed(3)}]`;

const against = (row: SizingRow, figure: SizingFigure): string => {
  const paired = row.paired?.[figure];
  if (paired === undefined) return '-';
  return paired.ratio === null ? difference(paired.difference) : ratio(paired.ratio);
};

const tableOf = (rows: readonly SizingRow[]): string[] => [
  '| sizes written | actions | undone | cold starts, held out | of the calls | against none | of these, by new revisions at most | p99, s | against none | mean, ms | OOM kills, all seeds | estimate: saved |',
  '|---|---|---|---|---|---|---|---|---|---|---|---|',
  ...rows.map(
    (row) =>
      `| ${row.arm.name} | ${whole(row.changes)} | ${whole(row.undone)} | ${whole(row.figures.cold)} | ${share(row.figures.coldShare)} | ${against(row, 'cold')} | ${whole(row.costs)} | ${(row.figures.p99.mean / 1000).toFixed(1)} | ${against(row, 'p99')} | ${whole(row.figures.mean)} | ${row.ooms} | ${row.promised === null ? '-' : whole(row.promised)} |`,
  ),
];

/** What issue 6, line 6, asks and what was not reached. */
export function sizingMissed(rows: readonly SizingRow[]): string[] {
  return rows.flatMap(({ userMemoryMiB, arm, paired, ooms, undone }) => {
    if (paired === null) return [];
    const where = `${userMemoryMiB} MiB, ${arm.name}`;
    return [
      ...(paired.cold.difference.high < 0 ? [] : [`${where}: not fewer cold starts`]),
      ...(ooms === 0
        ? []
        : [`${where}: ${ooms} calls killed (undone: ${undone.mean.toFixed(1)} a seed)`]),
    ];
  });
}

/** docs/results/right-sizing.md: what came of `command`. */
export function sizingReport(
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
    '# What right-sizing brings, and what it costs',
    '',
    `Written by \`${about.command}\`; the same figures anywhere. The sample of the Azure trace of 2019, an hour at its recorded load (${about.load} of all cores), on ${about.hosts} simulated hosts of`,
    `eight cores; users leave OpenWhisk's 256 MB and take 512 and more only where they must. Weight mode, \`short-first\`, as out of the box; ${about.seeds} seeds, the same calls for all. The first half hour`,
    'is the evidence; **every figure is of the second**, in which sizes are written and nobody has seen the calls before. Evidence, recommendations, waves and undoing are the product’s own',
    '(agents/tuning/sizing, openwhisk-plugin/openwhisk-api); sizes are in force from the next call of a function on, an OOM kill undoes at once.',
    '',
    ...SIZING_ARMS.map(({ name, about: text }) => `- **${name}**: ${text}.`),
    '',
    ...memories.flatMap((memory) => [
      `## ${memory} MiB of user-memory a host`,
      '',
      ...tableOf(rows.filter(({ userMemoryMiB }) => userMemoryMiB === memory)),
      '',
    ]),
    `Columns: ${Object.values(SIZING_FIGURES).join(', ')}; means over seeds, 95 % intervals (bootstrap), paired by seed where it says *against none*. *By new revisions at most*: containers alive when their`,
    'action was changed, each of them a cold start at most; they are among the cold starts. *Estimate*: what `gleaner actions recommend` would have promised to save in this half hour.',
    '',
    '## Against what was asked (issue 6, line 6)',
    '',
    ...(missed.length === 0
      ? ['- Fewer cold starts everywhere, and no call killed.']
      : missed.map((text) => `- ${text}`)),
    '',
    '## How to read it',
    '',
    '- Cold starts fall by more than the new revisions cost within the half hour; what they cost is paid once.',
    '- The fewer calls are asked for, the more room, and the more calls are killed: with n calls seen, the next needs more than all before with chance 1 / (n + 1), and the margin of 25 % does not cover',
    '  every tail. The default is 200 calls *and* a day.',
    '- A killed call is undone at once: the number of OOM kills is about the number of actions that were sized too small, not a rate that goes on.',
    '- p99 of the response is that of the longest functions. It falls where memory is scarcest (calls wait for room) and rises by up to 5 % where it is not: likely (not measured) because OpenWhisk sends calls to',
    '  their home host as long as memory lasts there, so with more room more calls stay there and share its cores.',
    '- The estimate (Che’s approximation, scaled to the cold starts seen) takes all hosts as one, so it promises too much where memory is scarcest.',
  ].join('\n')}\n`;
}
