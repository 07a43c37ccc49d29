import { readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import type { LearnerState } from '../../../agents/ppo/index.js';
import {
  KeptRuns,
  partOf,
  planJobs,
  planSections,
  runJobs,
  trainedContender,
} from '../../../experiments/compare/index.js';
import { OWN_WORKLOAD } from '../../support/own-workload.js';
import { temporaryFolder } from '../../support/temporary-folder.js';
import { REQUEST } from './comparison.js';

test('a kept run is not played again, and is what it was', async (t) => {
  const folder = temporaryFolder('kept-runs');
  const workload = join(folder, 'own.json');
  // Without an objective: there are NaN in its results.
  writeFileSync(workload, JSON.stringify(OWN_WORKLOAD));
  const request = {
    ...REQUEST,
    workloads: [workload],
    modes: ['quota'] as const,
    loads: [0.7],
    densityMiB: [],
  };
  const jobs = (seeds: readonly number[]) => planJobs(planSections(request), seeds);
  const runs = join(folder, 'runs');
  const played = await runJobs(jobs([2]), { workers: 1, kept: new KeptRuns(runs) });
  t.is(readdirSync(runs).length, played.length);
  const [lost, changed, ...others] = readdirSync(runs);
  truncateSync(join(runs, lost!), 100);
  const kept = readFileSync(join(runs, changed!), 'utf8');
  writeFileSync(join(runs, changed!), kept.replace('"result":"', '"result":"AAAA'));
  const done: number[] = [];
  const all = await runJobs(jobs([1, 2]), {
    workers: 1,
    kept: new KeptRuns(runs),
    onDone: (count) => done.push(count),
  });
  t.is(done[0], others.length, 'only the damaged ones of seed 2 are played');
  t.deepEqual(all, await runJobs(jobs([1, 2]), { workers: 1 }));
  // Nothing can be played without the workload.
  rmSync(workload);
  t.deepEqual(await runJobs(jobs([1, 2]), { workers: 1, kept: new KeptRuns(runs) }), all);
});

test('a run is kept for its setting, contender, weights and seed', (t) => {
  const kept = new KeptRuns(temporaryFolder('kept-runs'));
  const state = (weight: number) => ({ actor: new Float32Array([weight]) }) as LearnerState;
  const jobOf = (seed: number, load: number, weight: number) => {
    const added = [
      trainedContender('trial', { manager: 'simppo', mode: 'quota', state: state(weight) }),
    ];
    const sections = planSections({ ...REQUEST, modes: ['quota'], loads: [load], added });
    return planJobs(sections, [seed]).find(({ contender }) => contender.name === 'trial')!;
  };
  const result = { offeredLoad: Number.NaN, service: new Float64Array([-0, 1]) };
  kept.save(jobOf(1, 0.5, 1), { ...result, index: 7 } as never);
  const found = jobOf(1, 0.5, 1);
  t.deepEqual(kept.read(found) as unknown, { ...result, index: found.index });
  for (const other of [jobOf(2, 0.5, 1), jobOf(1, 0.7, 1), jobOf(1, 0.5, 2)])
    t.is(kept.read(other), undefined);
});

test('parts are disjoint, complete and equal but for one setting and seed', (t) => {
  const jobs = planJobs(planSections(REQUEST), REQUEST.seeds);
  for (let count = 1; count <= 20; count++) {
    const parts = Array.from({ length: count }, (_, i) => partOf(jobs, { part: i + 1, of: count }));
    const indexes = parts.flatMap((part) => part.map(({ index }) => index));
    t.deepEqual(
      indexes.sort((a, b) => a - b),
      jobs.map(({ index }) => index),
    );
    // 2 modes and 2 loads, 2 memories; 3 seeds each.
    const pairs = parts.map(
      (part) => new Set(part.map((job) => `${job.setting.name} ${job.seed}`)),
    );
    const sizes = pairs.map(({ size }) => size);
    t.is(
      sizes.reduce((sum, size) => sum + size, 0),
      (2 * 2 + 2) * 3,
    );
    t.true(Math.max(...sizes) - Math.min(...sizes) <= 1);
  }
});
