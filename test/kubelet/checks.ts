import { isUnified } from '../../bench/kubernetes/pods.js';
import type { FunctionLoad } from './load.js';
import type { LimitRecorder } from './recorder.js';
import { outcomeOf, type Revert, revertsOf, type Write } from './reverts.js';

export interface Check {
  readonly name: string;
  readonly found: string;
  readonly isGood: boolean;
}

/** A limit that this run put back itself. */
export interface Planted {
  readonly at: number;
  readonly container: string;
  readonly resource: 'cpu.quota' | 'cpu.shares';
}

/** What was seen of a run. */
export interface Seen {
  readonly minutes: number;
  readonly recorder: LimitRecorder;
  readonly loads: readonly FunctionLoad[];
  readonly writes: readonly Write[];
  readonly planted: readonly Planted[];
  readonly doctors: readonly string[];
  readonly kubeletLog: string;
  readonly kubeletRestarts: number;
  /** kubelet ran with static managers at the end. */
  readonly hasStatic: boolean;
  /** Pod whose container the run killed. */
  readonly crashed: string;
  readonly isSameHook: boolean;
}

/** Fewer changes of limits in a minute do not show that kubelet leaves them alone. */
const LEAST_WRITES = 5;

export function checksOf(seen: Seen): Check[] {
  const { recorder, loads, writes, planted, minutes } = seen;
  const containers = [...recorder.containers.values()];
  const users = new Map(containers.map(({ info, user }) => [info.id, user]));
  const reverts = revertsOf(recorder.readings, writes, users, !isUnified);
  const unnoticed = reverts.filter(({ outcome }) => outcome === 'unnoticed');
  const others = reverts.filter((revert) => !planted.some((each) => isOf(each, revert)));
  const longest = Math.max(0, ...reverts.map(({ from, to }) => to - from));
  const results = count(writes.map(({ result = '' }) => result));
  const resources = count(writes.map(({ resource = '' }) => resource));
  const failures = loads.flatMap((load) => load.failures);
  const sent = loads.reduce((sum, load) => sum + load.sent, 0);
  const restarted = restartsOf(recorder);
  const plantedOutcomes = planted.map(({ at, container, resource }) =>
    outcomeOf(
      { from: at, to: at },
      writes.filter((write) => write.container === container && write.resource === resource),
    ),
  );
  const user = containers.filter(({ ended }) => !ended);
  const different = user.filter(({ now, own }) => String(flat(now)) !== String(flat(own)));
  const evicted = seen.kubeletLog.match(/evict[^\n]*(pod|Pod)[^\n]*evicted/g)?.length ?? 0;
  const ooms = containers.reduce((sum, { oomKills }) => sum + oomKills, 0);
  const check = (name: string, isGood: boolean, found: string): Check => ({ name, found, isGood });
  return [
    check(
      'every activation is answered',
      failures.length === 0 && sent > 0,
      `${sent} sent, ${failures.length} failed${listed(failures)}`,
    ),
    check(
      'limits of each kind change all the time',
      ['cpu.quota', 'cpu.shares'].every(
        (name) => (resources.get(name) ?? 0) >= LEAST_WRITES * minutes,
      ),
      text(resources),
    ),
    check(
      'the kernel has what was written',
      [...results.keys()].every((result) => result === 'written' || result === 'gone'),
      text(results),
    ),
    check(
      'no limit is reverted unnoticed',
      unnoticed.length === 0 && recorder.readings.length > 0,
      `${recorder.readings.length} readings; values that Gleaner did not write: ${text(
        count(reverts.map(({ outcome }) => outcome)),
      )}, for ${longest} ms at most; ${reverts.length - others.length} put back by this run${listed(
        others.map((revert) => described(revert, recorder)),
      )}`,
    ),
    check(
      'each limit that another program puts back is written again',
      // The next decision may write a limit first, yet not each quota of a whole run.
      plantedOutcomes.some((outcome, n) => outcome === 'noticed' && isQuota(planted[n])) &&
        !plantedOutcomes.includes('unnoticed'),
      text(count(plantedOutcomes)),
    ),
    check(
      'kubelet restarts no container but the one that ended',
      restarted.length === 1 && restarted[0] === seen.crashed,
      restarted.join(', ') || 'none',
    ),
    check('kubelet evicts no pod', evicted === 0, `${evicted} evictions`),
    check('no process is killed for memory', ooms === 0, `${ooms} kills`),
    check(
      'the hook outlives every restart of kubelet',
      seen.isSameHook && seen.kubeletRestarts > 0,
      `${seen.kubeletRestarts} restarts`,
    ),
    check(
      'the weight of kubelet’s group is kubelet’s alone',
      recorder.qosWeights.length === 1,
      recorder.qosWeights.join(', '),
    ),
    check(
      seen.hasStatic
        ? 'doctor names the CPU and memory managers once they are static'
        : 'doctor knows kubelet (NOT RUN: static managers need two cores)',
      /kubelet +CPU manager none, memory manager None/.test(seen.doctors[0] ?? '') &&
        /CPU manager +static.*memory manager +Static/s.test(seen.doctors.at(-1) ?? '') ===
          seen.hasStatic,
      `${seen.doctors.length} outputs`,
    ),
    check(
      'after Gleaner every user limit is back, of container and pod',
      different.length === 0 && user.length > 0,
      `${user.length} containers, ${different.length} differ${listed(
        different.map(({ info, now, own }) => `${info.name} ${flat(now)} instead of ${flat(own)}`),
      )}`,
    ),
  ];
}

const isQuota = (limit: Planted | undefined): boolean => limit?.resource === 'cpu.quota';

/** Between an order to the runtime and its write. */
const DELAY = 2000;
const isOf = ({ at, container }: Planted, revert: Revert): boolean =>
  container === revert.container && revert.from >= at - DELAY && revert.from <= at + DELAY;

/** Pods that had a container after another. */
function restartsOf({ containers }: LimitRecorder): string[] {
  const byPod = count([...containers.values()].map(({ info }) => info.pod?.uid ?? ''));
  const names: string[] = [];
  for (const [uid, number] of byPod) {
    const first = [...containers.values()].find(({ info }) => info.pod?.uid === uid);
    const name = first?.info.name.replace(/-gleaner-node$/, '') ?? '';
    for (let n = 1; n < number; n++) names.push(name);
  }
  return names;
}

type Both =
  LimitRecorder['containers'] extends Map<string, infer Each>
    ? Each extends { now: infer Now }
      ? Now
      : never
    : never;

const flat = ({ ofPod, ofContainer }: Both): number[] => [
  ...[ofPod.weight, ofPod.quota, ofPod.memory],
  ...[ofContainer.weight, ofContainer.quota, ofContainer.memory],
];

function described(revert: Revert, { containers }: LimitRecorder): string {
  const name = containers.get(revert.container)?.info.name ?? revert.container;
  const since = new Date(revert.from).toISOString();
  const millis = revert.to - revert.from;
  return `${since} ${name} ${revert.limit} ${revert.value} for ${millis} ms: ${revert.outcome}`;
}

function count<T>(all: readonly T[]): Map<T, number> {
  const counts = new Map<T, number>();
  for (const each of all) counts.set(each, (counts.get(each) ?? 0) + 1);
  return counts;
}

const text = (counts: ReadonlyMap<string, number>): string =>
  [...counts].map(([name, number]) => `${name} ${number}`).join(', ') || 'none';

const SHOWN = 40;
const listed = (lines: readonly string[]): string =>
  lines
    .slice(0, SHOWN)
    .map((each) => `\n    ${each}`)
    .join('');
