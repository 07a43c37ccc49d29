import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { silentLogger, wildcards } from '../../../broker/index.js';
import { decodeEvent } from '../../../broker/messages/index.js';
import { loadConfig, SeededRandom } from '../../../config/index.js';
import { runHook } from '../../../openwhisk-plugin/daemon/index.js';
import { Player, SimPlatform } from '../../../simulator/platform/index.js';
import { azureTen, planWorkload } from '../../../simulator/workload/index.js';
import { MemoryBus } from '../../support/memory-broker/memory-bus.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

test('every time that people read is the real one, though simulated time is ahead', async (t) => {
  // Ten simulated seconds a real one: six simulated minutes after the start it is 36 s later.
  const start = Date.UTC(2026, 0, 1, 21, 12) * 1000;
  const platform = new SimPlatform(planWorkload(azureTen()), {
    epochMicros: start,
    timeOfDay: (simulated) => start + simulated / 10,
  });
  const bus = new MemoryBus();
  const stamps: number[] = [];
  bus.connect().subscribe(wildcards.events, ({ data }) => {
    const event = decodeEvent(data);
    if (event.ok) stamps.push(event.message.at);
  });
  const stateDir = temporaryFolder('one-clock');
  const { config } = loadConfig({});
  const hook = await runHook({
    platform,
    broker: bus.connect(),
    config: { ...config, mode: 'enforce', hook: { ...config.hook, stateDir } },
    logger: silentLogger,
    random: new SeededRandom(1),
  });
  await new Player(platform, { speed: Number.POSITIVE_INFINITY }).play();
  const decisions = hook
    .inspect()
    .functions.flatMap(({ name }) => hook.explain(name).map(({ startedAt }) => startedAt));
  await hook.stop();
  const audit = readFileSync(join(stateDir, 'audit.jsonl'), 'utf8').trimEnd().split('\n');
  const written = audit.map((line) => Date.parse((JSON.parse(line) as { at: string }).at) * 1000);
  const end = start + platform.now / 10;
  t.true(platform.now > 60_000_000, 'more than a minute is simulated');
  for (const [what, times] of Object.entries({ decisions, events: stamps, written })) {
    t.true(times.length > 10, `${what}: ${times.length}`);
    // The audit log has whole milliseconds.
    t.true(
      times.every((at) => at >= start - 1000 && at <= end + 1000),
      `${what}: ${Math.max(...times) - end} us late`,
    );
  }
});

test('a player knows the real time of a simulated moment', (t) => {
  const platform = new SimPlatform(planWorkload(azureTen()));
  const player = new Player(platform, { speed: 10 });
  const before = Date.now() * 1000;
  const at = player.timeOfDay(platform.now - 10_000_000);
  t.true(at >= before - 1_000_000 && at <= Date.now() * 1000 - 1_000_000);
});
