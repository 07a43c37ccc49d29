import { bytes, type Micros, type Millis, millicores, SeededRandom } from '../../config/index.js';
import {
  createPolicy,
  Decider,
  defaultDecisionSettings,
  type HostCapacity,
  Run,
  type UserLimits,
} from '../../openwhisk-plugin/index.js';
import { type BenchRow, row } from '../report.js';
import { quantile } from '../statistics.js';

const FUNCTIONS = 1000;
const BATCH = 200;
const nothing = (): void => undefined;

const capacity: HostCapacity = {
  cpu: millicores(64_000),
  allocatableCpu: millicores(64_000),
  memory: bytes(256 * 2 ** 30),
  allocatableMemory: bytes(192 * 2 ** 30),
};

/** One decision at the start of an activation (range, choice, pool, loans changed by it), over 1000 functions with a history. */
export function benchSafeguard(): BenchRow[] {
  const user: UserLimits = {
    shares: 128,
    quota: millicores(1000),
    memory: bytes(268435456),
    memoryAndSwap: bytes(268435456),
    periodMicros: 100_000,
  };
  const policies = { quota: createPolicy('smallest-in-range'), weight: createPolicy('short-first') };
  const decider = new Decider(defaultDecisionSettings, capacity, policies, new SeededRandom(1));
  const random = new SeededRandom(2);
  const runs: Run[] = [];
  let now = 1000;
  for (let i = 0; i < FUNCTIONS; i++) {
    const fn = decider.functionState(`/guest/f${i}`, '0.0.1', user, now as Millis);
    runs.push(new Run(fn, decider.container(user)));
  }
  let counter = 0;
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
  for (let batch = 0; batch < 2000; batch++) {
    const first = random.below(FUNCTIONS - BATCH);
    const begun = performance.now();
    for (let i = first; i < first + BATCH; i++) begin(runs[i]!);
    times.push(((performance.now() - begun) * 1000) / BATCH);
    for (let i = first; i < first + BATCH; i++) end(runs[i]!, 0.1 + random.next());
  }
  return [
    row('hook.safeguard.p50', quantile(times, 0.5), 'us', {
      goal: '<= 5',
      note: `${times.length} batches of ${BATCH} decisions over ${FUNCTIONS} functions; p99 of batches ${quantile(times, 0.99).toFixed(2)}`,
    }),
  ];
}
