import {
  bytes,
  MIB,
  type Micros,
  type Millis,
  millicores,
  type Random,
  SeededRandom,
} from '../../config/index.js';
import { quantile } from '../../experiments/statistics.js';
import {
  type ActivationPolicy,
  createPolicy,
  Decider,
  type DecisionSettings,
  defaultDecisionSettings,
  emptySample,
  type HostCapacity,
  POLICY_WEIGHTS,
  Run,
  type UserLimits,
} from '../../openwhisk-plugin/decision/index.js';
import { CFS_PERIOD_MICROS, FEATURE_LAYOUT } from '../../rules/index.js';
import { atLeast, type BenchRow, row } from '../report.js';

const FUNCTIONS = 1000;
const BATCH = 200;
const nothing = (): void => undefined;

const capacity: HostCapacity = {
  cpu: millicores(64_000),
  allocatableCpu: millicores(64_000),
  memory: bytes(256 * 2 ** 30),
  allocatableMemory: bytes(192 * 2 ** 30),
};

const BATCHES = 2000;

/**
 * us of one decision, by batches, and the share of the timed decisions that chose another quota
 * than the user's.
 */
interface DecisionTimes {
  readonly times: readonly number[];
  readonly changed: number;
}

/**
 * us of one decision at the start of an activation (range, choice, pool, loans changed by it), over
 * 1000 functions with a history; by batches.
 */
function decisionTimes(policy: ActivationPolicy, settings: DecisionSettings): DecisionTimes {
  const user: UserLimits = {
    shares: 128,
    quota: millicores(1000),
    memory: bytes(268435456),
    memoryAndSwap: bytes(268435456),
    periodMicros: CFS_PERIOD_MICROS,
  };
  const policies = { quota: policy, weight: createPolicy('short-first') };
  const decider = new Decider(settings, capacity, policies, new SeededRandom(1));
  const random = new SeededRandom(2);
  const runs: Run[] = [];
  let now = 1000;
  for (let i = 0; i < FUNCTIONS; i++) {
    const fn = decider.functionState(`/guest/f${i}`, '0.0.1', user, now as Millis);
    runs.push(new Run(fn, decider.container(user)));
  }
  let counter = 0;
  const usage = emptySample();
  usage.workingSet = bytes(100 * MIB);
  const begin = (run: Run): void => {
    run.reset(run.fn, run.container);
    run.startCpu = counter as Micros;
    decider.start(run, now as Millis);
    decider.takeChanged(nothing);
  };
  const end = (run: Run, cores: number): void => {
    now += 200;
    counter += 200_000 * cores;
    run.endCpu = counter as Micros;
    usage.cpu = run.endCpu;
    usage.at = now as Millis;
    decider.sample(run, usage, now as Millis);
    decider.finish(run, 'success', 200, true, now as Millis);
    decider.takeChanged(nothing);
  };
  for (let warm = 0; warm < 20; warm++) {
    for (const run of runs) {
      begin(run);
      end(run, 0.1 + random.next());
    }
  }
  const times: number[] = [];
  let changed = 0;
  for (let batch = 0; batch < BATCHES; batch++) {
    const first = random.below(FUNCTIONS - BATCH);
    const begun = performance.now();
    for (let i = first; i < first + BATCH; i++) begin(runs[i]!);
    times.push(((performance.now() - begun) * 1000) / BATCH);
    for (let i = first; i < first + BATCH; i++) {
      if (runs[i]!.quota !== user.quota) changed++;
      end(runs[i]!, 0.1 + random.next());
    }
  }
  return { times, changed: changed / (BATCHES * BATCH) };
}

/** Decisions that all leave the user's limit never look at the pool. */
const changes = (name: string, { changed }: DecisionTimes): BenchRow =>
  atLeast(
    name,
    changed,
    0.2,
    'of decisions',
    'too few decisions chose another quota than the user’s',
  );

const spread = (times: readonly number[], what: string): string =>
  `${times.length} batches of ${BATCH} ${what} over ${FUNCTIONS} functions; ` +
  `p99 of batches ${quantile(times, 0.99).toFixed(2)}`;

export function benchSafeguard(): BenchRow[] {
  const measured = decisionTimes(createPolicy('smallest-in-range'), defaultDecisionSettings);
  const { times } = measured;
  return [
    row('hook.safeguard.p50', quantile(times, 0.5), 'us', {
      goal: '<= 5',
      note: spread(times, 'decisions'),
    }),
    changes('hook.safeguard.changes', measured),
  ];
}

/**
 * The same decision where FaaSRM's network scores the options: eight of CPU under `guarantee`, 64
 * where memory is chosen too.
 */
export function benchFaasrm(): BenchRow[] {
  const random: Random = new SeededRandom(3);
  const weights = Array.from({ length: POLICY_WEIGHTS }, () => random.next() - 0.5);
  return (['guarantee', 'faasrm'] as const).flatMap((memoryPolicy) => {
    const settings = { ...defaultDecisionSettings, memoryPolicy };
    const plain = decisionTimes(createPolicy('smallest-in-range'), settings);
    const scored = decisionTimes(
      createPolicy('faasrm', { layout: FEATURE_LAYOUT }, weights),
      settings,
    );
    const name = `hook.faasrm.${memoryPolicy === 'faasrm' ? 64 : 8}`;
    return [
      row(name, quantile(scored.times, 0.5), 'us', {
        baseline: quantile(plain.times, 0.5),
        goal: '<= 20',
        note: `${spread(scored.times, 'whole decisions')}; baseline smallest-in-range`,
      }),
      changes(`${name}.changes`, scored),
    ];
  });
}
