import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { silentLogger } from '../../../broker/index.js';
import { loadConfig, SeededRandom } from '../../../config/index.js';
import { runHook } from '../../../openwhisk-plugin/daemon/index.js';
import { SimHost } from '../../../simulator/platform/host.js';
import { Player, SimPlatform } from '../../../simulator/platform/index.js';
import { hostOptions } from '../../../simulator/platform/options.js';
import { type Plan, planWorkload, shippedWorkload } from '../../../simulator/workload/index.js';

/** Mean execution time by function, ms. */
function means(plan: Plan, host: SimHost): Map<string, number> {
  const sums = new Map<string, { sum: number; count: number }>();
  for (let call = 0; call < plan.count; call++) {
    const name = plan.workload.functions[plan.fn[call]!]!.name;
    const entry = sums.get(name) ?? { sum: 0, count: 0 };
    entry.sum += host.results.execution(call) / 1000;
    entry.count++;
    sums.set(name, entry);
  }
  return new Map([...sums].map(([name, { sum, count }]) => [name, sum / count]));
}

test('the real hook runs on the simulated platform: who wants more than its quota is faster, nobody is slower, every activation ends', async (t) => {
  const workload = shippedWorkload();
  const plan = planWorkload(workload);
  const alone = new SimHost(plan, hostOptions(workload));
  alone.runToEnd();

  const stateDir = mkdtempSync(join(tmpdir(), 'gleaner-simhost-'));
  t.teardown(() => rmSync(stateDir, { recursive: true, force: true }));
  const { config } = loadConfig({});
  const platform = new SimPlatform(plan);
  const hook = await runHook({
    platform,
    broker: null,
    config: { ...config, mode: 'enforce', hook: { ...config.hook, stateDir } },
    logger: silentLogger,
    random: new SeededRandom(1),
  });
  await new Player(platform.host, { speed: Number.POSITIVE_INFINITY }).play();
  const { counters } = hook.inspect();
  await hook.stop();

  t.is(platform.host.ended, 268);
  t.like(counters, {
    started: 268,
    ended: 268,
    clean: 268,
    limitsRefused: 0,
    limitsNotEffective: 0,
    drift: 0,
  });
  t.true([...platform.host.results.outcome].every((outcome) => outcome === 1));
  const before = means(plan, alone);
  const after = means(plan, platform.host);
  // alu can use 2 cores and has a quota of .5, ip 2 and 1: at least a fifth faster on an idle host
  // of four.
  for (const name of ['/guest/alu', '/guest/ip'])
    t.true(after.get(name)! < 0.8 * before.get(name)!, name);
  for (const [name, mean] of before)
    t.true(after.get(name)! <= mean * 1.05 + 1, `${name}: ${mean} → ${after.get(name)}`);
  // Stopped, it has restored what the user asked for.
  for (let slot = 0; slot < platform.host.table.high; slot++) {
    const info = platform.infoOf(slot);
    if (info === undefined) continue;
    t.is(platform.host.table.columns.quota[slot]! / 100, info.user.quota, info.name);
    t.is(platform.host.table.columns.weight[slot], info.user.shares, info.name);
    t.is(platform.host.table.columns.limit[slot], info.user.memory, info.name);
  }
});
