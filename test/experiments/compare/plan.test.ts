import test from 'ava';
import { planSections } from '../../../experiments/compare/index.js';
import { WorkloadCache } from '../../../experiments/compare/job.js';
import { REQUEST } from './comparison.js';

const namesOf = (request: Partial<typeof REQUEST>): string[] =>
  planSections({ ...REQUEST, ...request }).map(({ setting }) => setting.name);

test('what is named twice is one section', (t) => {
  const twice = namesOf({
    workloads: ['azure-ten', 'azure-ten'],
    modes: ['quota', 'weight', 'quota'],
    loads: [0.5, 0.9, 0.5],
    densityMiB: [2048, 2048],
  });
  t.deepEqual(twice, [
    'azure-ten, quota mode, load 0.5',
    'azure-ten, quota mode, load 0.9',
    'azure-ten, weight mode, load 0.5',
    'azure-ten, weight mode, load 0.9',
    'density: azure-ten, 2048 MiB of user memory per host',
  ]);
});

test('a workload on one host and on two is two sections with their own names', (t) => {
  const names = namesOf({
    workloads: ['azure-ten@1', 'azure-ten@2'],
    modes: ['weight'],
    loads: [0.5],
    densityMiB: [],
  });
  t.deepEqual(names, ['azure-ten@1, weight mode, load 0.5', 'azure-ten@2, weight mode, load 0.5']);
});

test('a part of a workload is its minutes, and stands in the names of sections', (t) => {
  const request = { modes: ['weight'], loads: [0.5], densityMiB: [2048] } as const;
  const sections = planSections({ ...REQUEST, ...request, part: 'test' });
  t.deepEqual(
    sections.map(({ setting }) => setting.name),
    [
      'azure-ten test, weight mode, load 0.5',
      'density: azure-ten test, 2048 MiB of user memory per host',
    ],
  );
  // As `gleaner train` takes them: the last 12 of the 60 minutes, of all ten functions.
  const cache = new WorkloadCache();
  const minutesOf = (setting: (typeof sections)[number]['setting']) => {
    const { functions } = cache.open(setting, 1).workload;
    return functions.map(({ arrivals }) => 'perMinute' in arrivals && arrivals.perMinute.length);
  };
  const { setting } = sections[0]!;
  const { part: _, ...whole } = setting;
  t.true(minutesOf(setting).every((minutes) => minutes === 12));
  t.true(minutesOf(whole).every((minutes) => minutes === 60));
});
