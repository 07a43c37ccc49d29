// Verdicts of a comparison from its runs.csv, without playing it again; functions that are slower
// are not in that file. node scripts/comparison-verdicts.mjs <runs.csv> ...     (after a build)
import { METRICS } from '../dist/experiments/compare/metrics.js';
import { verdict } from '../dist/experiments/compare/report/verdict.js';
import { columnName } from '../dist/experiments/compare/runs-csv.js';
import { meanInterval, pairedWith } from '../dist/experiments/statistics.js';
import { printOrFail, readRuns } from './runs-csv.mjs';

function columnOf(runs, name) {
  if (!Object.hasOwn(runs[0], name)) throw new Error(`no column ${name}`);
  return runs.map((run) => Number(run[name]));
}

const valuesOf = (runs) =>
  Object.fromEntries(METRICS.map((metric) => [metric.key, columnOf(runs, columnName(metric))]));

function rowOf(name, runs, fixed) {
  const values = valuesOf(runs);
  const figures = Object.fromEntries(METRICS.map(({ key }) => [key, meanInterval(values[key])]));
  const paired = Object.fromEntries(
    METRICS.map(({ key, nearZero }) => [key, pairedWith(values[key], fixed[key], nearZero)]),
  );
  const victims = { judged: 0, slowedDown: 0, spedUp: 0, worst: [] };
  return { name, isNoise: name.startsWith('fixed, other'), values, figures, paired, victims };
}

printOrFail(() => {
  for (const [name, contenders] of readRuns(process.argv.slice(2))) {
    const fixed = valuesOf(contenders.get('fixed'));
    const section = { rows: [...contenders].map(([who, runs]) => rowOf(who, runs, fixed)) };
    console.log(`\n**${name}**\n`);
    for (const sentence of verdict(section, METRICS)) console.log(`- ${sentence}`);
  }
});
