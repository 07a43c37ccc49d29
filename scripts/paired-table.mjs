// Tables of a comparison's runs.csv in Markdown: means with intervals, and one contender's
// differences from the others, paired by seed. node scripts/paired-table.mjs <contender> <runs.csv>
// ...     (after a build)
import { readFileSync } from 'node:fs';
import { meanInterval } from '../dist/experiments/compare/statistics.js';

const METRICS = {
  'service.mean': 'slowdown, mean',
  'service.p99': 'slowdown, p99',
  'slo.missed_share': 'functions above objective',
  'slo.late_share': 'calls failed or late',
  'response.mean_ms': 'response ms, mean',
  'worst.slowdown': 'worst function',
};
/** Figures that must not be worse than the baselines'. */
const JUDGED = ['service.mean', 'service.p99', 'slo.missed_share', 'slo.late_share'];

const [contender, ...files] = process.argv.slice(2);
const cells = (line) =>
  [...line.matchAll(/"((?:[^"]|"")*)"|([^,]+)/g)].map(([, quoted, plain]) => quoted ?? plain);
const sections = new Map();
for (const file of files) {
  const [header, ...lines] = readFileSync(file, 'utf8').trim().split('\n').map(cells);
  for (const line of lines) {
    const row = Object.fromEntries(header.map((key, i) => [key, line[i]]));
    const rows = sections.get(row.section) ?? new Map();
    sections.set(row.section, rows);
    rows.set(
      row.contender,
      [...(rows.get(row.contender) ?? []), row].sort((a, b) => a.seed - b.seed),
    );
  }
}
const number = (value) => Number(value.toPrecision(3)).toString().replace('-', '−');
const interval = ({ mean, low, high }) => `${number(mean)} (${number(low)} to ${number(high)})`;
for (const [section, rows] of sections) {
  const [first] = rows.values();
  console.log(`\n**${section}**, seeds ${first[0].seed} to ${first.at(-1).seed}\n`);
  console.log(`| who | ${Object.values(METRICS).join(' | ')} |`);
  console.log(`|---|${'---|'.repeat(Object.keys(METRICS).length)}`);
  for (const [name, runs] of rows)
    console.log(
      `| \`${name}\` | ${Object.keys(METRICS)
        .map((key, i) =>
          (i < 2 ? interval : ({ mean }) => number(mean))(
            meanInterval(runs.map((run) => Number(run[key]))),
          ),
        )
        .join(' | ')} |`,
    );
  const own = rows.get(contender);
  if (own === undefined) continue;
  console.log(
    `\n\`${contender}\` less the others, paired by seed; **bold**: the whole interval is worse\n`,
  );
  console.log(`| less | ${JUDGED.map((key) => METRICS[key]).join(' | ')} |`);
  console.log(`|---|${'---|'.repeat(JUDGED.length)}`);
  for (const [name, runs] of rows) {
    if (name === contender || name.startsWith('fixed, other')) continue;
    const differences = JUDGED.map((key) =>
      meanInterval(own.map((run, i) => Number(run[key]) - Number(runs[i][key]))),
    );
    const cells = differences.map((one) => (one.low > 0 ? `**${interval(one)}**` : interval(one)));
    console.log(`| \`${name}\` | ${cells.join(' | ')} |`);
  }
}
