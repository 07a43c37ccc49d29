import { countText, goalLines, ratioText, type SeededStudy } from '../reproduction.js';
import { isBelow } from '../statistics.js';
import {
  BASELINE,
  GREEDY,
  PRESSURE_ARMS,
  PRICE,
  type PressureRow,
  type PressureStudy,
  pressureStudy,
} from './study.js';

const lineOf = (row: PressureRow): string => {
  const { name, figures, kills, cold, p99 } = row;
  const cells = [
    name,
    countText(figures.changes),
    countText(figures.cold),
    `${(100 * figures.coldShare.mean).toFixed(1)} %`,
    name === BASELINE ? '-' : ratioText(cold.ratio),
    String(kills),
    (figures.p99.mean / 1000).toFixed(1),
    name === BASELINE ? '-' : ratioText(p99.ratio),
    countText(figures.mean),
  ];
  return `| ${cells.join(' | ')} |`;
};

const tableOf = ({ rows, replays }: PressureStudy, memory: number): string[] => [
  '| sizes | changes | cold starts | of the activations | against after 200 |' +
    ' OOM kills, all seeds | p99, s | against after 200 | mean, ms |',
  '|---|---|---|---|---|---|---|---|---|',
  ...rows.filter(({ userMemoryMiB }) => userMemoryMiB === memory).map(lineOf),
  ...replays
    .filter(({ userMemoryMiB }) => userMemoryMiB === memory)
    .map(({ name, cold }) => `| ${name} | | ${countText(cold)} | | | | | | |`),
];

/** A fifth fewer cold starts, no more OOM kills, p99 within 2 %, and fewer than the greedy. */
const GOAL = { cold: 0.8, p99: 1.02 } as const;

function missedOf({ rows }: PressureStudy): string[] {
  return rows.flatMap((row) => {
    if (row.name !== PRICE) return [];
    const where = `${row.userMemoryMiB} MiB`;
    const baseline = rows.find(
      ({ name, userMemoryMiB }) => name === BASELINE && userMemoryMiB === row.userMemoryMiB,
    )!;
    return [
      ...((row.cold.ratio?.mean ?? 1) <= GOAL.cold
        ? []
        : [`${where}: cold starts ${ratioText(row.cold.ratio)}`]),
      ...((row.p99.ratio?.mean ?? 1) <= GOAL.p99
        ? []
        : [`${where}: p99 ${ratioText(row.p99.ratio)}`]),
      ...(row.kills <= baseline.kills
        ? []
        : [`${where}: ${row.kills} OOM kills, ${baseline.kills} before`]),
      ...(isBelow(row.greedy.difference, 0)
        ? []
        : [`${where}: not below ${GREEDY}: ${ratioText(row.greedy.ratio)}`]),
    ];
  });
}

function pressureReport(
  study: PressureStudy,
  about: { readonly command: string; readonly seeds: number; readonly hosts: number },
): string {
  const memories = [...new Set(study.rows.map(({ userMemoryMiB }) => userMemoryMiB))];
  const missed = missedOf(study);
  const price = study.rows.filter(({ name }) => name === PRICE);
  return `${[
    '# Sizes at the price of memory',
    '',
    `Written by \`${about.command}\`; every machine gets the same figures. The Azure sample of`,
    `2019, ${study.activations} activations of the half of its functions that was not used to`,
    `build the rule, as recorded (load ${study.load.toFixed(2)}), on ${about.hosts} simulated`,
    "hosts of eight cores; users keep OpenWhisk's 256 MB unless they need more. Weight mode,",
    `\`short-first\`; ${about.seeds} seeds. Sizes change from the start, all at once; figures`,
    'are of the second half hour, OOM kills of the whole hour.',
    '',
    ...PRESSURE_ARMS.map(({ name, about: text }) => `- **${name}**: ${text}.`),
    '',
    ...memories.flatMap((memory) => [
      `## ${memory} MiB of user-memory a host`,
      '',
      ...tableOf(study, memory),
      '',
    ]),
    "Means over seeds with Student's 95 % intervals; ratios are paired by seed, geometric means of",
    'those of the seeds. p99 counts activations that failed. *Furthest next use* replays the',
    'activations of the run without changes, or with known sizes, where they ran: each host evicts',
    'the container that is needed last. That is a heuristic which sees the future, not a bound.',
    '',
    ...price.map(
      (row) =>
        `Cold starts of *${PRICE}* against *${GREEDY}*, ${row.userMemoryMiB} MiB: ` +
        `${ratioText(row.greedy.ratio)}.`,
    ),
    '',
    '## Goal: 20 % fewer cold starts than after 200 activations at no more OOM kills, p99 at most',
    '1.02x, and fewer than the greedy optimizer',
    '',
    ...goalLines(missed, about.seeds),
  ].join('\n')}\n`;
}

const SIZE = { hosts: 15, cores: 8, userMemoryMiB: [6144, 16_384], minutes: 60 } as const;
const QUICK = { hosts: 2, cores: 8, userMemoryMiB: [4096], minutes: 20, functions: 120 } as const;

export const memoryPressureReproduction: SeededStudy = {
  name: 'memory-pressure',
  description:
    'cold starts, response time and OOM kills of sizes at the price of memory, against earlier ' +
    'rules and knowledge of the future, on held-out functions of the Azure sample (5 min; ' +
    '--quick: 10 s)',
  firstSeed: 11,
  seeds: 5,
  quickSeeds: 1,
  run({ seeds, quick, command, onRun }) {
    const size = quick ? QUICK : SIZE;
    const study = pressureStudy({ ...size, seeds, half: 'held out', onRun });
    return {
      markdown: pressureReport(study, { command, seeds: seeds.length, hosts: size.hosts }),
      figures: study,
      missed: missedOf(study),
    };
  },
};
