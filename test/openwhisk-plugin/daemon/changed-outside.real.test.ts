import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import test from 'ava';
import type { ActivationResult } from '../../../simulator/invoker-emulator/index.js';
import { until } from '../../support/gleaner.js';
import { docker, dockerAndTap, missing } from '../../support/real-parts.js';
import { allowed } from '../../support/slowness.js';
import { action, counters, groupOf, together } from './real-containers.js';

/** The hook runs in this process: nothing may block it. */
const run = promisify(execFile);

/** 512 shares; on v2 the weight that runc makes of them: 1 + (512 - 2) * 9999 / 262142. */
const HALF_CORE = existsSync('/sys/fs/cgroup/cgroup.controllers') ? 20 : 512;

interface Change {
  readonly name: string;
  readonly make: () => Promise<unknown>;
}

/** What undoes limits of a running container beside its engine. */
function changesOf(id: string, group: ReturnType<typeof groupOf>): readonly Change[] {
  if (docker('info', '--format', '{{.CgroupDriver}}') !== 'systemd')
    return [
      { name: 'write to a file', make: async () => group.write(90_000, group.read().shares) },
    ];
  const unit = `docker-${id}.scope`;
  return [
    ['daemon-reload'],
    ['set-property', '--runtime', unit, 'CPUQuota=70%'],
    ['set-property', '--runtime', unit, 'TasksMax=500'],
  ].map((args) => ({ name: args.join(' '), make: () => run('systemctl', args) }));
}

test.serial(
  'a limit that is reset during an activation is in force again; an update is the user’s',
  async (t) => {
    if (missing(t, dockerAndTap)) return;
    t.timeout(allowed(200_000));
    // One container fits.
    await together(t, 'wskglhkh0', { userMemoryMb: 256 }, async (emulator, hook) => {
      const io = action('io', { cpus: 1, timeoutMs: allowed(60_000) });
      const first = await emulator.invoke(io, { sleepMs: allowed(500) });
      const id = docker('inspect', '--format', '{{.Id}}', first.containerName as string);
      const group = groupOf(id);
      const quotaNow = (): number => group.read().quota;
      /** An activation with a lowered quota; on a busy machine a start may reach the hook late. */
      const lowered = async (): Promise<{ call: Promise<ActivationResult>; own: number }> => {
        for (let tries = 1; ; tries++) {
          // Drift is looked for every 5 s, on a slow machine too.
          const call = emulator.invoke(io, { sleepMs: Math.min(allowed(15_000), 40_000) });
          try {
            await until(() => quotaNow() < 100_000, 3000, 'lowered at /run');
            return { call, own: quotaNow() };
          } catch (error) {
            if (tries === 3) throw error;
            await call;
          }
        }
      };
      /** False: the safeguard raised the quota during the activation, so that nothing was shown. */
      const isInForceAgain = async ({ name: change, make }: Change): Promise<boolean> => {
        const { call, own } = await lowered();
        const before = counters(hook).drift!;
        await make();
        const begun = performance.now();
        // A change of another property resets a quota too, but for the newest versions of systemd.
        const isOver = (): boolean => performance.now() - begun > 7000;
        await until(() => counters(hook).drift! > before || isOver(), 8000, change);
        const drift = counters(hook).drift! - before;
        await until(() => [own, 100_000].includes(quotaNow()), 1000, `in force after ${change}`);
        const isRaised = quotaNow() !== own;
        const took = (performance.now() - begun).toFixed(0);
        t.log(`${change}: quota ${own}, now ${quotaNow()}, ${drift} times, after ${took} ms`);
        t.true((await call).ok);
        await until(() => quotaNow() === 100_000, 500, 'what it was at its start');
        return !isRaised;
      };
      for (const change of changesOf(id, group)) {
        let tries = 1;
        while (!(await isInForceAgain(change))) t.true(++tries <= 4, 'raised each time');
      }
      t.true(counters(hook).drift! > 0);
      const updated = { quota: 90_000, shares: HALF_CORE, memory: 200 * 1024 * 1024, swap: 0 };
      const { call } = await lowered();
      const limits = [
        '--cpus',
        '0.9',
        '--cpu-shares',
        '512',
        '-m',
        '200m',
        '--memory-swap',
        '200m',
      ];
      await run('docker', ['update', ...limits, id]);
      const begun = performance.now();
      await until(() => quotaNow() === updated.quota, 2000, 'the updated limits are the user’s');
      t.log(`user limits of the update after ${(performance.now() - begun).toFixed(0)} ms`);
      const { ok, activationId } = await call;
      t.true(ok);
      t.true((await emulator.invoke(io, { sleepMs: allowed(6000) })).ok);
      const explained = hook
        .explain('/guest/io')
        .filter(({ activation }) => activation === activationId);
      t.deepEqual(
        explained.map(({ ended, limitsChanged }) => ({ ended, limitsChanged })),
        [{ ended: 'answer', limitsChanged: true }],
      );
      hook.toggleKillSwitch();
      // If drift was looked for between the update and its event, the memory is lowered again,
      // which takes the kernel a moment.
      await until(() => group.read().memory === updated.memory, 2000, 'memory of the update');
      t.deepEqual(group.read(), updated);
      await hook.stop();
      t.deepEqual(group.read(), updated);
    });
  },
);
