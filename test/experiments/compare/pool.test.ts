import test from 'ava';
import { shippedFaasrm } from '../../../agents/faasrm/index.js';
import type { LearnerState } from '../../../agents/ppo/index.js';
import { settingsOf, shippedPolicy } from '../../../agents/simppo/index.js';
import {
  type ComparisonRequest,
  type Contender,
  contender,
  planJobs,
  planSections,
  runJobs,
  trainedContender,
} from '../../../experiments/compare/index.js';
import { batches, ComparisonRunError } from '../../../experiments/compare/pool.js';
import { REQUEST } from './comparison.js';

const SMALL: ComparisonRequest = {
  ...REQUEST,
  seeds: [1, 2],
  loads: [0.7],
  modes: ['quota'],
  densityMiB: [],
};
const jobs = planJobs(planSections(SMALL), SMALL.seeds);

test('jobs of one setting and seed go together, in their order', (t) => {
  const parts = batches(jobs);
  t.is(parts.length, 2);
  t.deepEqual(parts.flat(), jobs);
  t.deepEqual(batches([]), []);
});

test('one worker or two: the same bytes, in the order of the jobs', async (t) => {
  const done: number[] = [];
  const one = await runJobs(jobs, { workers: 1, onDone: (count) => done.push(count) });
  const two = await runJobs(jobs, { workers: 2 });
  t.deepEqual(done, [0, ...jobs.map((_, i) => i + 1)]);
  t.deepEqual(
    one.map(({ index }) => index),
    jobs.map(({ index }) => index),
  );
  t.is(JSON.stringify(two), JSON.stringify(one));
});

test('adding a manager changes no other run', async (t) => {
  const more = planJobs(
    planSections({ ...SMALL, contenders: ['short-first', 'vpa', 'greedy'] }),
    SMALL.seeds,
  );
  const few = await runJobs(jobs, { workers: 2 });
  const many = await runJobs(more, { workers: 2 });
  for (const job of jobs) {
    const same = more.find(
      ({ contender, seed }) => contender.name === job.contender.name && seed === job.seed,
    )!;
    t.deepEqual(
      { ...many[same.index], index: 0 },
      { ...few[job.index], index: 0 },
      job.contender.name,
    );
  }
});

const figuresOf = async (contenders: readonly Contender[]) => {
  const [section] = planSections({ ...SMALL, contenders: [] });
  const own = planJobs([{ ...section!, contenders }], [1]);
  return (await runJobs(own, { workers: 1 })).map(({ figures }) => figures);
};

test('a trained policy is played as the shipped one is, with its own weights', async (t) => {
  const shipped = shippedPolicy('simppo', 'quota', settingsOf('simppo'))!;
  const scorer = shippedFaasrm('cluster')!;
  // The last layer's weights and bias the other way: the worst score becomes the best.
  const reversed = (state: LearnerState, last: number): LearnerState => ({
    ...state,
    actor: state.actor.map((value, i, all) => (i < all.length - last ? value : -value)),
  });
  const agents = { manager: 'simppo', mode: 'quota' } as const;
  const scores = { manager: 'faasrm', mode: 'quota' } as const;
  const [own, same, other] = await figuresOf([
    contender('simppo+deadline-first'),
    trainedContender('same', { ...agents, state: shipped }),
    trainedContender('other', { ...agents, state: reversed(shipped, 65 * 7) }),
  ]);
  t.deepEqual(same, own);
  t.notDeepEqual(other, own);
  const [ownScores, sameScores, otherScores] = await figuresOf([
    contender('faasrm+deadline-first'),
    trainedContender('same', { ...scores, state: scorer }),
    trainedContender('other', { ...scores, state: reversed(scorer, 17) }),
  ]);
  t.deepEqual(sameScores, ownScores);
  t.notDeepEqual(otherScores, ownScores);
});

test('a run that fails is named', async (t) => {
  const [job] = jobs;
  const wrong = { ...job!, setting: { ...job!.setting, workload: 'no-such-workload' } };
  const error = await t.throwsAsync(runJobs([wrong], { workers: 1 }), {
    instanceOf: ComparisonRunError,
  });
  t.regex(
    error.message,
    /the run of fixed in 'azure-ten, quota mode, load 0\.7', seed 1, failed: .*no-such-workload/s,
  );
});
