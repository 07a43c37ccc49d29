import test from 'ava';
import type { Row, Section } from '../../../experiments/compare/comparison.js';
import {
  type Comparison,
  compareRuns,
  planJobs,
  planSections,
  runsCsv,
  withDefaultSizes,
} from '../../../experiments/compare/index.js';
import { runJob, WorkloadCache } from '../../../experiments/compare/job.js';
import { azureTen } from '../../../simulator/workload/index.js';
import { REQUEST, toyComparison, toyComparisonOf } from './comparison.js';
import { toyEngine } from './toy-engine.js';

const row = ({ rows }: Section, name: string): Row => rows.find((one) => one.name === name)!;
const load = ({ sections }: Comparison, mode: string): Section =>
  sections.find(({ kind, setting }) => kind === 'load' && setting.mode === mode)!;

test('a section for every workload, mode and load, then one for each density', (t) => {
  const { sections } = toyComparison();
  t.deepEqual(
    sections.map(({ setting }) => setting.name),
    [
      'azure-ten, weight mode, load 0.5',
      'azure-ten, weight mode, load 0.7',
      'azure-ten, quota mode, load 0.5',
      'azure-ten, quota mode, load 0.7',
      'density: azure-ten, 2048 MiB of user memory per host',
      'density: azure-ten, 8192 MiB of user memory per host',
    ],
  );
  for (const { rows } of sections) t.is(rows[0]!.name, 'fixed');
  // The toy engine counts what was drawn; three seeds of 268 activations come close to what was
  // asked for.
  t.true(Math.abs(sections[1]!.offeredLoad - 0.7) < 0.12, String(sections[1]!.offeredLoad));
});

test('contenders are paired with fixed, seed by seed', (t) => {
  const section = load(toyComparison(), 'weight');
  const { paired, values, figures } = row(section, 'short-first');
  const fixed = row(section, 'fixed');
  t.is(fixed.paired, undefined);
  t.is(values['service.mean']!.length, 3);
  const ratios = values['service.mean']!.map(
    (value, i) => value / fixed.values['service.mean']![i]!,
  );
  const mean = Math.cbrt(ratios.reduce((product, value) => product * value, 1));
  t.true(Math.abs(paired!['service.mean']!.ratio!.mean - mean) < 1e-12);
  t.true(paired!['service.mean']!.difference.high < 0);
  t.true(figures['service.mean']!.mean < fixed.figures['service.mean']!.mean);
  // Nothing is harvested by either: no ratio.
  t.is(paired!['harvested.coreSeconds']!.ratio, null);
});

test('fixed against fixed differs by its draws alone, and is said to be noise', (t) => {
  const section = load(toyComparison(), 'weight');
  const noise = section.rows.filter(({ isNoise }) => isNoise);
  t.is(noise.length, 2);
  for (const one of noise)
    t.notDeepEqual(one.values['service.mean'], row(section, 'fixed').values['service.mean']);
});

test('adding a manager changes no other run', (t) => {
  const few = load(
    toyComparisonOf({
      ...REQUEST,
      loads: [0.7],
      modes: ['weight'],
      densityMiB: [],
      contenders: ['short-first'],
    }),
    'weight',
  );
  const more = load(
    toyComparisonOf({
      ...REQUEST,
      loads: [0.7],
      modes: ['weight'],
      densityMiB: [],
      contenders: ['greedy', 'equal', 'short-first'],
    }),
    'weight',
  );
  for (const { name } of few.rows) t.deepEqual(row(more, name), row(few, name));
});

test('a contender faster than the oracle is named', (t) => {
  const request = {
    ...REQUEST,
    seeds: [1],
    loads: [0.5],
    modes: ['weight' as const],
    densityMiB: [],
  };
  const sections = planSections(request);
  const jobs = planJobs(sections, request.seeds);
  const workloadCache = new WorkloadCache();
  const results = jobs.map((job) =>
    runJob(job, workloadCache, (options) => {
      const { recorder } = options;
      if (job.contender.name !== 'greedy') return toyEngine(options);
      return toyEngine({
        ...options,
        recorder: {
          record: (activation) =>
            recorder!.record({
              ...activation,
              endedAt: activation.runAt + activation.soloMicros / 2,
            }),
        },
      });
    }),
  );
  const [section] = compareRuns(sections, jobs, results, {
    command: '',
    gleaner: '',
    seeds: [1],
  }).sections;
  t.deepEqual(section!.beatOracle, ['greedy']);
  t.deepEqual(
    toyComparison().sections.flatMap(({ beatOracle }) => beatOracle),
    [],
  );
});

test('the first function of the toy pays, and is found', (t) => {
  const { victims } = row(load(toyComparison(), 'weight'), 'short-first');
  // Nine gain (0.2 of fixed's delay), one has 1.8 of it: (1 + 0.9) / (1 + 0.5) = 1.27 in the mean.
  t.is(victims.judged, 10);
  t.is(victims.worst[0]!.name, azureTen().functions[0]!.name);
  t.true(victims.worst[0]!.ratio > 1.15 && victims.worst[0]!.ratio < 1.4);
});

test('every run is a line', (t) => {
  const comparison = toyComparison();
  const lines = runsCsv(comparison).trimEnd().split('\n');
  const runs = comparison.sections.reduce((sum, { rows }) => sum + 3 * rows.length, 0);
  t.is(lines.length, runs + 1);
  t.regex(lines[1]!, /^"azure-ten, weight mode, load 0\.5",azure-ten,weight,0\.5,4096,fixed,1,/);
  const columns = lines[0]!.split(',').length;
  t.is(lines[1]!.replace(/"[^"]*"/g, 'x').split(',').length, columns);
  // Each name says its unit, and no value has more digits than mean something.
  for (const name of [
    'response.mean_ms',
    'wait.mean_ms',
    'cold.share',
    'saved.seconds',
    'utilization_share',
  ])
    t.true(lines[0]!.split(',').includes(name), name);
  for (const cell of lines.slice(1).join(',').split(',')) {
    const value = Number(cell);
    if (!Number.isNaN(value)) t.is(value, Number(value.toPrecision(9)));
  }
});

test('users leave the default limit where they can', (t) => {
  const workload = azureTen();
  const sized = withDefaultSizes(workload);
  sized.functions.forEach((fn, i) => {
    t.true([256, 512].includes(fn.memoryMiB), `${fn.name} ${fn.memoryMiB}`);
    t.true(fn.memoryMiB >= workload.functions[i]!.memoryMiB || fn.memoryMiB >= 256);
  });
});
