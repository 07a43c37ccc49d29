import test from 'ava';
import { docker, dockerAndTap, missing } from '../../support/real-parts.js';
import { allowed } from '../../support/slowness.js';
import { action, counters, groupOf, together, userShares, watched } from './real-containers.js';

/** What the hook does besides quotas, on real containers: weights and both memory policies. */
const MIB = 1024 * 1024;

const idOf = (name: string): string => docker('inspect', '--format', '{{.Id}}', name);

test.serial(
  'without a quota the shorter function weighs more, and each container is the user’s afterwards',
  async (t) => {
    if (missing(t, dockerAndTap)) return;
    t.timeout(allowed(120_000));
    const demands = [
      { run: action('mixed', { name: 'short' }), cpuMs: 5 },
      { run: action('mixed', { name: 'long' }), cpuMs: allowed(300) },
    ];
    const weightOnly = (config: { decision: { policy: object } }): void =>
      void Object.assign(config.decision.policy, { weight: 'short-first' });
    await together(
      t,
      'wskglhke0',
      {},
      async (emulator, hook) => {
        const weights: number[] = [];
        const ids: string[] = [];
        for (const { run, cpuMs } of demands) {
          // The wait comes first, so that even the short one can be looked at while it runs.
          const payload = { rounds: 1, sleepMs: allowed(300), cpuMs };
          const first = await emulator.invoke(run, payload);
          const id = idOf(first.containerName as string);
          ids.push(id);
          for (let i = 0; i < 2; i++) t.true((await emulator.invoke(run, payload)).ok);
        }
        for (const [i, { run, cpuMs }] of demands.entries()) {
          const payload = { rounds: 1, sleepMs: allowed(300), cpuMs };
          const { result, seen } = await watched(ids[i]!, emulator.invoke(run, payload));
          t.true(result.ok);
          t.deepEqual(
            new Set(seen.map(({ quota }) => quota)),
            new Set([-1]),
            'no quota is invented',
          );
          weights.push(seen.at(-1)!.shares);
        }
        t.log(`weights in force: short ${weights[0]}, long ${weights[1]}`);
        // CPU times of 1 to 60, and weights as their ratio. The fixed costs of a call leave 1 to 8,
        // or 1 to 3.6 where system calls are slow and neighbors' time counts as used.
        t.true(weights[0]! >= 2 * weights[1]!, weights.join(', '));
        await hook.stop();
        for (const id of ids) t.is(groupOf(id).read().shares, userShares(id));
      },
      weightOnly,
    );
  },
);

test.serial(
  'policy faasrm lowers memory and swap together while an activation runs, and restores both',
  async (t) => {
    if (missing(t, dockerAndTap)) return;
    t.timeout(allowed(120_000));
    await together(
      t,
      'wskglhkf0',
      {},
      async (emulator, hook) => {
        const small = action('memory', { memoryMb: 512 });
        const payload = { megabytes: 20, holdMs: allowed(600) };
        const first = await emulator.invoke(small, payload);
        t.true(first.ok);
        const id = idOf(first.containerName as string);
        t.is(groupOf(id).read().memory, 512 * MIB);
        let least = 512 * MIB;
        for (let calls = 1; least === 512 * MIB && calls < 6; calls++) {
          const { result, seen } = await watched(id, emulator.invoke(small, payload));
          t.true(result.ok);
          least = Math.min(...seen.map(({ memory }) => memory));
          t.deepEqual(new Set(seen.map(({ swap }) => swap)), new Set([0]));
        }
        t.log(`least limit in force: ${(least / MIB).toFixed(0)} MiB`);
        t.true(least < 512 * MIB && least > 20 * MIB);
        await hook.stop();
        const { memory, swap } = groupOf(id).read();
        t.deepEqual({ memory, swap }, { memory: 512 * MIB, swap: 0 });
        t.is(counters(hook).oomHarvest, 0);
      },
      ({ decision: { memory } }) =>
        void Object.assign(memory, { policy: 'faasrm', invokerMemoryMiB: 2048 }),
    );
  },
);

test.serial(
  'after an OOM kill at the user’s limit a loan lets the same activation succeed',
  async (t) => {
    if (missing(t, dockerAndTap)) return;
    t.timeout(allowed(120_000));
    await together(
      t,
      'wskglhkg0',
      { userMemoryMb: 512 },
      async (emulator, hook) => {
        const tight = action('memory', { memoryMb: 256 });
        // Above 256 MiB, and with two processes of node below the 356 MiB after a kill [VPA].
        const payload = { megabytes: 300, inChild: true };
        const first = await emulator.invoke(tight, payload);
        const id = idOf(first.containerName as string);
        let most = 0;
        let results: unknown = null;
        for (let calls = 1; most <= 256 * MIB && calls < 6; calls++) {
          const { result, seen } = await watched(id, emulator.invoke(tight, payload));
          results = result.result;
          most = Math.max(...seen.map(({ memory }) => memory));
          t.deepEqual(new Set(seen.map(({ swap }) => swap)), new Set([0]));
        }
        t.log(`first ${JSON.stringify(first.result)}, then ${JSON.stringify(results)}`);
        t.log(`most ${(most / MIB).toFixed(0)} MiB`);
        t.like(first.result, { child: { signal: 'SIGKILL' } });
        t.true(most > 256 * MIB);
        t.like(results, { child: { status: 0 } });
        t.is(counters(hook).oomHarvest, 0);
        await hook.stop();
        // Its use is below the user's limit again.
        t.is(groupOf(id).read().memory, 256 * MIB);
      },
      ({ decision: { memory } }) => void Object.assign(memory, { invokerMemoryMiB: 512 }),
    );
  },
);
