// Verdicts of a comparison from its runs.csv, without playing it again; functions that are slower
// are not in that file. node scripts/comparison-verdicts.mjs <runs.csv> ...     (after a build)
import { METRICS } from '../dist/experiments/compare/metrics.js';
import { verdict } from '../dist/experiments/compare/report/verdict.js';
import { meanInterval, pairedWith } from '../dist/experiments/statistics.js';
import { readRuns } from './runs-csv.mjs';

/** Metrics are the last columns, in the order of `METRICS`. */
const valuesOf = (runs) =>
  Object.fromEntries(
    METRICS.map(({ key }, i) => [
      key,
      runs.map((run) => Number(Object.values(run).at(i - METRICS.length))),
    ]),
  );

function rowOf(name, runs, fixed) {
  const values = valuesOf(runs);
  const figures = Object.fromEntries(METRICS.map(({ key }) => [key, meanInterval(values[key])]));
  const paired = Object.fromEntries(
    METRICS.map(({ key, nearZero }) => [key, pairedWith(values[key], fixed[key], nearZero)]),
  );
  const victims = { judged: 0, slowedDown: 0, spedUp: 0, worst: [] };
  return { name, isNoise: name.startsWith('fixed, other'), values, figures, paired, victims };
}

for (const [name, contenders] of readRuns(process.argv.slice(2))) {
  const fixed = valuesOf(contenders.get('fixed'));
  const section = { rows: [...contenders].map(([who, runs]) => rowOf(who, runs, fixed)) };
  console.log(`\n**${name}**\n`);
  for (const sentence of verdict(section, METRICS)) console.log(`- ${sentence}`);
}
