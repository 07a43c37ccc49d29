import test from 'ava';
import {
  FaasrmLearner,
  faasrmParameters,
  faasrmSettings,
  faasrmWeights,
} from '../../../agents/faasrm/index.js';
import { JsEngine } from '../../../agents/nn/index.js';
import { InlineTrainer } from '../../../agents/ppo/index.js';
import {
  type CorrectedSection,
  correctedSection,
  correctedVerdicts,
} from '../../../experiments/faasrm/corrected-study.js';
import { publishedStudy } from '../../../experiments/faasrm/published-study.js';
import { type Choice, POLICY_WEIGHTS } from '../../../openwhisk-plugin/decision/index.js';
import { simulateCluster } from '../../../simulator/engine/index.js';
import {
  playPublished,
  readPublishedSample,
  summarizePublished,
} from '../../../simulator/freyr-2021/index.js';
import { activationStream, openWorkload } from '../../../simulator/workload/index.js';

/** Scores rise (`sign` 1) or fall with an option's CPU and memory, its tenth and eleventh input. */
function liking(sign: number): number[] {
  const weights = new Array<number>(POLICY_WEIGHTS).fill(0);
  weights[9 * 32] = 1;
  weights[10 * 32] = 1;
  weights[12 * 32] = 1;
  weights[12 * 32 + 33 * 16] = sign;
  return weights;
}
const actor = (sign: number): Float32Array => Float32Array.from(liking(sign).slice(0, 929));

test('a low or high score picks the smallest or largest choice in the published mask', (t) => {
  const rows = publishedStudy([50], [1], actor(-1));
  const mean = (name: string): number =>
    rows.find(({ contender }) => contender === name)!.figures['rfet.mean'].mean;
  t.is(mean('faasrm'), mean('smallest-in-range'));
  // [Freyr-sim]: 0.8879.
  t.true(Math.abs(mean('faasrm') - 0.8879) < 3e-4);
  const sample = readPublishedSample('azure-sample', 50);
  const run = (manager: Parameters<typeof playPublished>[1]['manager']) =>
    summarizePublished(playPublished(sample, { manager, seed: 1 }));
  t.deepEqual(run({ actor: actor(1), version: 0, experiences: null }), run('largest-in-range'));
});

test('by the published rules each sample is one drawn choice, reported once', (t) => {
  const samples = new Set<Readonly<Choice>>();
  const sample = readPublishedSample('azure-sample', 10, 500);
  const outcomes = playPublished(sample, {
    manager: {
      actor: new Float32Array(929),
      version: 7,
      experiences: (choice, rfet) => {
        t.false(samples.has(choice));
        samples.add(choice);
        t.true(
          choice.options > 1 && choice.option < choice.options && rfet > 0 && choice.version === 7,
        );
        // All scores are 0: each option is as likely as any other.
        t.true(Math.abs(choice.logProbability + Math.log(choice.options)) < 1e-9);
      },
    },
    seed: 1,
  });
  t.true(samples.size > outcomes.length / 2 && samples.size < outcomes.length);
});

const setting = { workload: 'profiles-12:4', load: 0.2, activations: 1500 };

test('on the cluster a network that prefers little takes the smallest choice', (t) => {
  const learned = { parameters: faasrmParameters(0, false), weights: liking(-1) };
  const section = correctedSection(setting, [1, 2], learned);
  t.true(Math.abs(section.load - 0.2) < 0.05 && section.memoryLoad > 0);
  const row = (name: string) => section.rows.find(({ contender }) => contender === name)!;
  t.deepEqual(row('faasrm').values, row('smallest-in-range').values);
  t.deepEqual(row('fixed').values['worst.victim'], [1, 1]);
  const [smallest] = correctedVerdicts(section, 'slowdown.mean');
  t.like(smallest, {
    floor: 'smallest-in-range',
    better: false,
    apart: false,
    difference: { low: 0, high: 0 },
  });
});

test('a verdict is better where each seed is, and apart where the intervals do not touch', (t) => {
  const row = (contender: string, values: number[]) => ({
    contender,
    values: { 'slowdown.mean': values },
    figures: {
      'slowdown.mean': {
        mean: 0,
        low: Math.min(...values),
        high: Math.max(...values),
        n: values.length,
      },
    },
  });
  const verdicts = (seeds: number) =>
    correctedVerdicts(
      {
        rows: [
          row('faasrm', [1, 2, 1, 2, 1]),
          row('smallest-in-range', [1.1, 2.1, 1.1, 2.1, 1.1]),
          row('random-in-range', [3, 4, 3, 4, 3]),
          row('largest-in-range', [0.9, 1.9, 0.9, 1.9, 0.9]),
        ].map(({ contender, values }) => row(contender, values['slowdown.mean'].slice(0, seeds))),
      } as unknown as CorrectedSection,
      'slowdown.mean',
    );
  t.deepEqual(
    verdicts(5).map(({ floor, better, apart }) => [floor, better, apart]),
    [
      ['smallest-in-range', true, false],
      ['random-in-range', true, true],
      ['largest-in-range', false, false],
    ],
  );
  t.true(
    verdicts(1).every(({ better, apart }) => !better && !apart),
    'one seed tells nothing',
  );
});

test('the samples of a run on the cluster improve the policy', (t) => {
  const settings = { ...faasrmSettings, options: 8, rollout: 128 };
  const learner = new FaasrmLearner({
    settings,
    seed: 1,
    trainer: new InlineTrainer(new JsEngine()),
  });
  const loaded = openWorkload('profiles-12', { seed: 3, load: { load: 0.5, cores: 16 } });
  let samples = 0;
  simulateCluster({
    activations: activationStream(loaded, { seed: 3, activations: 3000 }),
    cluster: { hosts: 2, cores: 8 },
    mode: 'quota',
    // A slowdown is samples once the control arm has said what an activation takes at user limits.
    decision: { controlShare: 0.3 },
    quotaPolicy: 'faasrm',
    quotaParameters: {
      parameters: faasrmParameters(0, true),
      weights: faasrmWeights(learner.state),
    },
    seed: 3,
    experiences: (choice, slowdown) => {
      samples++;
      if (learner.ready) return;
      const {
        state,
        cpu,
        memory,
        cpus,
        memories,
        option,
        logProbability,
        share,
        version: weights,
      } = choice;
      const [amounts, sizes] = [[...cpu.subarray(0, cpus)], [...memory.subarray(0, memories)]];
      const taken = { function: '/guest/f', state: [...state], cpu: amounts, memory: sizes };
      t.true(learner.take({ ...taken, option, logProbability, share, weights, slowdown }));
    },
  });
  t.true(samples > settings.rollout && learner.ready, `${samples} samples`);
  learner.update((metrics) =>
    t.true(Number.isFinite(metrics?.policyLoss) && metrics?.skipped === 0),
  );
  t.is(learner.version, 1);
});
