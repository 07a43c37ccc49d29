import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import test from 'ava';
import type { ActivationResult } from '../../../simulator/invoker-emulator/index.js';
import { until } from '../../support/gleaner.js';
import { docker, dockerAndTap, missing } from '../../support/real-parts.js';
import { allowed } from '../../support/slowness.js';
import { action, counters, groupOf, together, userShares } from './real-containers.js';

/** The hook runs in this process: nothing may block it. */
const run = promisify(execFile);

/** What undoes limits of a running container: without systemd's cgroup driver, Docker alone. */
function changesOf(id: string): readonly (readonly [string, ...string[]])[] {
  const update = ['docker', 'update', '--cpus', '0.9', id] as const;
  if (docker('info', '--format', '{{.CgroupDriver}}') !== 'systemd') return [update];
  const unit = `docker-${id}.scope`;
  return [
    update,
    ['systemctl', 'daemon-reload'],
    ['systemctl', 'set-property', '--runtime', unit, 'CPUQuota=70%'],
    ['systemctl', 'set-property', '--runtime', unit, 'TasksMax=500'],
  ];
}

test.serial(
  'a limit that Docker or systemd resets during an activation is in force again, then the user’s',
  async (t) => {
    if (missing(t, dockerAndTap)) return;
    t.timeout(allowed(200_000));
    // One container fits.
    await together('wskglhkh0', { userMemoryMb: 256 }, async (emulator, hook) => {
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
      const isInForceAgain = async (program: string, args: string[]): Promise<boolean> => {
        const { call, own } = await lowered();
        const before = counters(hook).drift!;
        await run(program, args);
        const begun = performance.now();
        const change = args.join(' ');
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
      for (const [program, ...args] of changesOf(id)) {
        let tries = 1;
        while (!(await isInForceAgain(program, args))) t.true(++tries <= 4, 'raised each time');
      }
      t.true(counters(hook).drift! > 0);
      await hook.stop();
      const { quota, shares, memory, swap } = group.read();
      t.deepEqual([quota, memory, swap], [100_000, 256 * 1024 * 1024, 0]);
      t.is(shares, userShares(id));
    });
  },
);
