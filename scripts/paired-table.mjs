// Tables of a comparison's runs.csv in Markdown: means with intervals, and one contender's
// differences from the others, paired by seed. node scripts/paired-table.mjs <contender> <runs.csv>
// ...     (after a build)
import { changedTogether, meanInterval, pairedWith } from '../dist/experiments/statistics.js';
import { printOrFail, readRuns } from './runs-csv.mjs';

const METRICS = {
  'service.mean': 'slowdown, mean',
  'service.p99': 'slowdown, p99',
  'slo.missed_share': 'functions above objective',
  'slo.late_share': 'activations failed or late',
  'response.mean_ms': 'response ms, mean',
  'worst.slowdown': 'worst function',
};
/** Figures that must not be worse than the baselines'. */
const JUDGED = ['service.mean', 'service.p99', 'slo.missed_share', 'slo.late_share'];

const [contender, ...files] = process.argv.slice(2);
const number = (value) => Number(value.toPrecision(3)).toString().replace('-', '−');
const interval = ({ mean, low, high }) => `${number(mean)} (${number(low)} to ${number(high)})`;
const valuesOf = (runs, key) => runs.map((run) => Number(run[key]));
const seedsOf = (runs) => runs.map(({ seed }) => seed).join(', ');

printOrFail(() => {
  for (const [section, rows] of readRuns(files)) {
    const [first] = rows.values();
    console.log(`\n**${section}**, seeds ${first[0].seed} to ${first.at(-1).seed}\n`);
    console.log(`| who | ${Object.values(METRICS).join(' | ')} |`);
    console.log(`|---|${'---|'.repeat(Object.keys(METRICS).length)}`);
    for (const [name, runs] of rows)
      console.log(
        `| \`${name}\` | ${Object.keys(METRICS)
          .map((key, i) =>
            (i < 2 ? interval : ({ mean }) => number(mean))(meanInterval(valuesOf(runs, key))),
          )
          .join(' | ')} |`,
      );
    const own = rows.get(contender);
    if (own === undefined) continue;
    const others = [...rows].filter(
      ([name]) => name !== contender && !name.startsWith('fixed, other'),
    );
    console.log(
      `\n\`${contender}\` less the others, paired by seed; **bold**: worse, told apart (Holm ` +
        'over the others)\n',
    );
    console.log(`| less | ${JUDGED.map((key) => METRICS[key]).join(' | ')} |`);
    console.log(`|---|${'---|'.repeat(JUDGED.length)}`);
    for (const [name, runs] of others)
      if (seedsOf(runs) !== seedsOf(own)) throw new Error(`${name}: seeds ${seedsOf(runs)}`);
    // Cells by metric, then by contender.
    const columns = JUDGED.map((key) => {
      // Differences are shown, so that they are judged: no ratio.
      const changes = others.map(([, runs]) =>
        pairedWith(valuesOf(own, key), valuesOf(runs, key), Number.POSITIVE_INFINITY),
      );
      const changed = changedTogether(changes);
      return changes.map(({ difference }, i) =>
        changed[i] && difference.mean > 0 ? `**${interval(difference)}**` : interval(difference),
      );
    });
    others.forEach(([name], i) => {
      console.log(`| \`${name}\` | ${columns.map((cells) => cells[i]).join(' | ')} |`);
    });
  }
});
