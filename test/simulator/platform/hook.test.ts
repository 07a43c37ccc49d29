import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { silentLogger } from '../../../broker/index.js';
import { type Bytes, loadConfig, type Millicores, SeededRandom } from '../../../config/index.js';
import { runHook } from '../../../openwhisk-plugin/daemon/index.js';
import type { Limits } from '../../../openwhisk-plugin/decision/index.js';
import { ActivationLog, ClusterOutcome } from '../../../simulator/engine/index.js';
import { Player, SimPlatform } from '../../../simulator/platform/index.js';
import { azureTen, type Plan, planWorkload } from '../../../simulator/workload/index.js';
import { runToEnd } from './scene.js';

/** Mean execution time by function, ms. */
function means(plan: Plan, { activations }: ActivationLog): Map<string, number> {
  const sums = new Map<string, { sum: number; count: number }>();
  for (const { fn, runAt, endedAt } of activations) {
    const name = plan.workload.functions[fn]!.name;
    const entry = sums.get(name) ?? { sum: 0, count: 0 };
    entry.sum += (endedAt - runAt) / 1000;
    entry.count++;
    sums.set(name, entry);
  }
  return new Map([...sums].map(([name, { sum, count }]) => [name, sum / count]));
}

test('the real hook on a simulated host speeds up functions above their quota', async (t) => {
  const workload = azureTen();
  const plan = planWorkload(workload);
  const alone = new ActivationLog();
  runToEnd(new SimPlatform(plan, { recorder: alone }));

  const stateDir = mkdtempSync(join(tmpdir(), 'gleaner-simhost-'));
  t.teardown(() => rmSync(stateDir, { recursive: true, force: true }));
  const { config } = loadConfig({});
  const managed = new ActivationLog();
  const platform = new SimPlatform(plan, { recorder: managed });
  const hook = await runHook({
    platform,
    broker: null,
    config: { ...config, mode: 'enforce', hook: { ...config.hook, stateDir } },
    logger: silentLogger,
    random: new SeededRandom(1),
  });
  await new Player(platform, { speed: Number.POSITIVE_INFINITY }).play();
  const { counters } = hook.inspect();
  await hook.stop();

  t.is(platform.cluster.accounts.ended, 268);
  t.like(counters, {
    started: 268,
    ended: 268,
    clean: 268,
    limitsRefused: 0,
    limitsNotEffective: 0,
    drift: 0,
  });
  t.true(managed.activations.every(({ outcome }) => outcome === ClusterOutcome.success));
  const before = means(plan, alone);
  const after = means(plan, managed);
  // alu can use 2 cores and has a quota of .5, ip 2 and 1: at least a fifth faster on an idle host
  // of four.
  for (const name of ['/guest/alu', '/guest/ip'])
    t.true(after.get(name)! < 0.8 * before.get(name)!, name);
  for (const [name, mean] of before)
    t.true(after.get(name)! <= mean * 1.05 + 1, `${name}: ${mean} → ${after.get(name)}`);
  // Stopped, it has restored what the user asked for.
  const limits: Limits = { shares: 0, quota: 0 as Millicores, memory: 0 as Bytes };
  for (const container of platform.containers) {
    const { name, user } = container.info;
    container.readLimits(limits);
    t.deepEqual(limits, { shares: user.shares, quota: user.quota, memory: user.memory }, name);
  }
});
