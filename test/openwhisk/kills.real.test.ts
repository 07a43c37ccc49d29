import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { type WatchedContainer, watchContainers } from '../faults/cgroups.js';
import { PARTS, pidsOf } from '../faults/processes.js';
import { RESTORE_BOUND } from '../faults/rounds.js';
import { until } from '../support/gleaner.js';
import { allowed } from '../support/slowness.js';
import type { ActivationRecord, OpenWhiskApi } from './api.js';
import { GleanerFixture } from './gleaner-fixture.js';
import { allCases, onlyWithAllCases, openWhiskMissing, PREFIX, Standalone } from './standalone.js';

const KILLS = allCases ? 30 : 5;
const FUNCTIONS = 3;
const LONG = 120_000;
/** Waits, and uses a twentieth of its time's CPU: its quota and its weight are worth changing. */
const WORK = `async function main({ ms }) {
  const begin = process.cpuUsage();
  for (;;) {
    const { user, system } = process.cpuUsage(begin);
    if (user + system >= 50 * ms) break;
  }
  await new Promise((resolve) => setTimeout(resolve, ms));
  return { ms };
}`;

const name = (i: number): string => `work${i}`;

/**
 * Users that invoke one after the other until they are stopped; every record that was not a
 * success.
 */
class Users {
  readonly #running: Promise<void>[];
  #stopped = false;
  invoked = 0;
  readonly failed: ActivationRecord[] = [];

  constructor(api: OpenWhiskApi) {
    this.#running = Array.from({ length: FUNCTIONS }, async (_, i) => {
      while (!this.#stopped) {
        const record = await api.invoke(name(i), { ms: 200 });
        this.invoked++;
        if (!record.response.success) this.failed.push(record);
      }
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#running);
  }
}

const isUsers = (container: WatchedContainer): boolean => {
  try {
    const { quota, shares } = container.limits();
    return quota === container.user.quota && shares === container.user.shares;
  } catch {
    // Its container is gone.
    return true;
  }
};

/**
 * Ms until each container was seen with its user's quota and weight. A limit may be lowered again
 * as soon as its hook has a tap: each counts by itself.
 */
async function restored(containers: readonly WatchedContainer[]): Promise<number> {
  const begun = performance.now();
  const left = new Set(containers);
  for (;;) {
    for (const container of left) if (isUsers(container)) left.delete(container);
    const took = performance.now() - begun;
    if (left.size === 0) return took;
    if (took > 20 * RESTORE_BOUND) return Number.POSITIVE_INFINITY;
    await sleep(2);
  }
}

for (const [what, userCpus] of [
  ['quotas and weights', 32],
  ['weights', undefined],
] as const) {
  const title = `after kill -9 of any part no activation fails, and ${what} are restored`;
  test.serial(title, async (t) => {
    if (openWhiskMissing(t) || (userCpus === undefined && onlyWithAllCases(t))) return;
    t.timeout(allowed(1_200_000));
    const openWhisk = new Standalone(userCpus === undefined ? {} : { userCpus });
    t.teardown(() => openWhisk.stop());
    await openWhisk.start();
    const { api } = openWhisk;
    for (let i = 0; i < FUNCTIONS; i++) await api.putAction(name(i), WORK);
    const gleaner = new GleanerFixture({ decision: { peakHalfLifeS: 5 } });
    t.teardown(() => gleaner.stop());
    await gleaner.start();
    const up = gleaner.process.pid;

    const users = new Users(api);
    t.teardown(() => users.stop());
    const changed = (): WatchedContainer[] => {
      const all = watchContainers(PREFIX);
      const some = all.filter((container) => !isUsers(container));
      for (const each of all) if (!some.includes(each)) each.close();
      return some;
    };
    const slowest = new Map<string, number>();
    for (let kill = 0; kill < KILLS; kill++) {
      const part = PARTS[kill % PARTS.length]!;
      let containers: WatchedContainer[] = [];
      await until(
        () => {
          for (const each of containers) each.close();
          containers = changed();
          return containers.length > 0;
        },
        LONG,
        'limits that are not the user’s',
      );
      const before = pidsOf(part, up);
      t.true(before.length > 0, part);
      for (const pid of before) process.kill(pid, 'SIGKILL');
      if (part === 'hook' || part === 'tcpdump') {
        const took = await restored(containers);
        t.true(took <= RESTORE_BOUND, `${part}, kill ${kill + 1}: ${took.toFixed(0)} ms`);
        slowest.set(part, Math.max(took, slowest.get(part) ?? 0));
      }
      for (const each of containers) each.close();
      await until(
        () => pidsOf(part, up).some((pid) => !before.includes(pid)),
        LONG,
        `${part} again`,
      );
      await gleaner.inspect();
    }
    // Not by the hook that was started again, which may be as fast on a quiet machine.
    const audit = readFileSync(join(gleaner.folder, 'state', 'audit.jsonl'), 'utf8');
    t.true(audit.includes('"why":"hook_ended"'));
    await users.stop();
    t.log(`${KILLS} kills, ${users.invoked} activations, ${users.failed.length} failed`);
    for (const [part, took] of slowest)
      t.log(`${part}: user limits after ${took.toFixed(0)} ms at most`);
    t.deepEqual(users.failed, []);
    t.true(users.invoked > KILLS);
  });
}
