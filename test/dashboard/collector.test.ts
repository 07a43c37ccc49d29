import { fc, testProp } from '@fast-check/ava';
import test, { type ExecutionContext } from 'ava';
import { services } from '../../broker/index.js';
import { announce } from '../../broker/services/index.js';
import { millis } from '../../config/index.js';
import { Collector } from '../../dashboard/server/collector.js';
import { Stream } from '../../dashboard/server/stream.js';
import type { Tick } from '../../dashboard/wire.js';
import { ManualTime } from '../support/manual-time.js';
import { MemoryBus } from '../support/memory-broker/memory-bus.js';
import { settle } from '../support/settle.js';
import { HOST, SyntheticGleaner } from './synthetic.js';

/** A collector, and what an open page gets of it. */
function stage(t: ExecutionContext, maxFunctions = 5000) {
  const time = new ManualTime();
  const bus = new MemoryBus(time);
  const broker = bus.connect();
  const collector = new Collector({ broker, clock: time, timers: time, maxFunctions });
  t.teardown(() => collector.stop());
  const stream = new Stream(collector, time, { version: '1.2.3', writable: false });
  const sent: Tick[] = [];
  const response = {
    on: () => undefined,
    writableLength: 0,
    write: (text: string) => void sent.push(JSON.parse(text.split('data: ')[1]!)),
  };
  stream.add(response as never);
  collector.start();
  const pass = async (seconds: number): Promise<void> => {
    for (let i = 0; i < 10 * seconds; i++) {
      time.advance(millis(100));
      await settle();
      if (i % 10 === 9) stream.tick();
    }
  };
  return { bus, time, collector, sent, pass };
}

test('a host that is silent for two minutes is removed from functions and totals', async (t) => {
  const { bus, collector, sent, pass } = stage(t);
  const lost = new SyntheticGleaner(bus.connect(), 3);
  lost.start();
  await pass(12);
  const row = () => collector.rows().find(({ name }) => name === lost.names[0]) ?? null;
  t.like(row(), { hosts: 1, containers: 2 });
  t.is(collector.totals().functionsJudged, 3);
  t.true(collector.totals().safeguardTotal > 0);
  t.is(collector.waiting().length, 1);

  lost.stop();
  t.deepEqual(sent.at(-1)?.silentParts, []);
  await pass(118);
  t.like(row(), { hosts: 1 }, 'not yet');
  await pass(12);
  t.is(row(), null);
  t.deepEqual(collector.hosts.rows(), []);
  const silent = () => sent.at(-1)?.silentParts.map(({ service, host }) => `${service} ${host}`);
  t.true(silent()?.includes(`gleaner-hook ${HOST}`), 'it is still named');
  t.deepEqual(collector.waiting(), []);
  t.like(collector.totals(), {
    functionsJudged: 0,
    functionsLearning: 0,
    harvestedTotal: 0,
    safeguardTotal: 0,
  });
  t.deepEqual(
    sent.flatMap(({ removed }) => removed ?? []),
    lost.names,
    'open pages remove the rows',
  );
  t.not(collector.functions.get(lost.names[0]!)?.history.last(), null, 'the history stays');

  const back = new SyntheticGleaner(bus.connect(), 3);
  t.teardown(() => back.stop());
  back.start();
  await pass(12);
  t.like(row(), { hosts: 1, containers: 2 });
  t.is(sent.at(-1)?.hosts[0]?.host, HOST);
  t.deepEqual(silent(), []);
  t.true(
    sent.slice(-12).some(({ functions }) => functions?.length === 3),
    'the rows are back',
  );
});

test('a part that announced its end is stopped or failed, others are silent', async (t) => {
  const { bus, time, collector, pass } = stage(t);
  const start = (failure: string | null = null) => {
    const gleaner = new SyntheticGleaner(bus.connect(), 1);
    gleaner.start();
    const instance = { service: services.hook, host: HOST, id: 'one1' };
    return { gleaner, end: announce(bus.connect(), time, instance, () => failure) };
  };
  const shown = () =>
    collector.silentParts.map(({ service, stopped }) => [service, stopped && seconds() - stopped]);
  const seconds = () => time.wall() / 1e6;
  const first = start();
  await pass(12);
  t.deepEqual(shown(), []);
  first.end();
  first.gleaner.stop();
  // No page is open: it is asked every ten seconds.
  await pass(12);
  const [[service, ago] = []] = shown();
  t.is(service, services.hook);
  t.true(Math.abs(Number(ago) - 12) < 0.5);
  await pass(20);
  t.deepEqual(
    shown().map(([service, ago]) => [service, ago === null]),
    [
      [services.agents, true],
      [services.hook, false],
    ],
    'the agent host has crashed',
  );
  const second = start('a fault');
  await pass(12);
  t.deepEqual(shown(), []);
  const why = () => collector.silentParts.flatMap(({ failure }) => failure ?? []);
  second.end();
  second.gleaner.stop();
  await pass(32);
  t.deepEqual(why(), ['a fault']);
  const third = start();
  await pass(12);
  t.deepEqual([shown(), why()], [[], []]);
  // Killed: its end is not announced.
  third.gleaner.stop();
  await pass(32);
  t.true(shown().every(([, ago]) => ago === null));
  third.end();
});

test('a host that no longer answers has no rates, while its reports keep it', async (t) => {
  const { bus, collector, pass } = stage(t);
  const gleaner = new SyntheticGleaner(bus.connect(), 3);
  gleaner.start();
  await pass(5);
  gleaner.tick();
  await pass(6);
  const rates = () => collector.rows().map(({ rate }) => rate);
  t.true(rates().length === 3 && rates().every((rate) => rate !== null && rate > 0));
  t.true(collector.totals().activationRate > 0 && collector.totals().harvestedCores > 0);
  gleaner.stop();
  for (let i = 0; i < 35; i++) {
    gleaner.tick();
    await pass(1);
  }
  t.is(collector.hosts.rows().length, 1);
  t.deepEqual(rates(), [null, null, null]);
  t.like(collector.totals(), { activationRate: 0, harvestedCores: 0, lentCores: 0 });
});

test('while NATS is away everything stays; hosts expire later', async (t) => {
  const { bus, collector, sent, pass } = stage(t);
  const gleaner = new SyntheticGleaner(bus.connect(), 3);
  t.teardown(() => gleaner.stop());
  gleaner.start();
  await pass(12);
  gleaner.tick();
  gleaner.event('safeguard', gleaner.names[0]!, 'over_provisioned');
  await pass(2);
  bus.takeDown();
  await pass(1);
  const shown = () => {
    const { totals, hosts } = sent.at(-1)!;
    return { totals, hosts, waiting: collector.waiting() };
  };
  const before = shown();
  t.like(before.totals, { sloKept: 1, safeguardRate: 1 });
  t.true(before.totals.activationRate > 0 && before.totals.harvestedCores > 0);
  t.is(before.waiting[0]?.names.length, 3);
  t.not(before.hosts[0]?.waitShare, null);
  // Longer than the expiry of hosts, and than each window of the figures.
  await pass(400);
  t.deepEqual(shown(), before);
  gleaner.stop();
  bus.bringUp();
  await pass(118);
  t.is(collector.hosts.rows().length, 1, 'not yet');
  await pass(4);
  t.deepEqual(collector.hosts.rows(), []);
});

testProp(
  'totals are those of the hooks, whichever functions are called, forgotten and called again',
  [fc.array(fc.subarray([0, 1, 2, 3, 4]), { minLength: 1, maxLength: 20 })],
  async (t, seconds) => {
    // Room for two of five functions.
    const { bus, collector, pass } = stage(t, 2);
    const gleaner = new SyntheticGleaner(bus.connect(), 5);
    gleaner.start(false);
    await pass(2);
    for (const called of seconds) {
      gleaner.tick(called.map((i) => gleaner.names[i]!));
      await pass(2);
      const { second } = gleaner;
      const { harvestedTotal, lentTotal, savedTotal } = collector.totals();
      // Of each function .5 core-seconds a second, of every third .25, and .01 s x its number.
      t.deepEqual([harvestedTotal, lentTotal], [5 * 0.5 * second, 2 * 0.25 * second]);
      t.true(Math.abs(savedTotal - 0.01 * (0 + 1 + 2 + 3 + 4) * second) < 1e-9);
    }
    gleaner.stop();
  },
  { numRuns: 20 },
);

test('totals of an older hook, which counts by function only, are sums over them', async (t) => {
  const { bus, collector, pass } = stage(t);
  const older = new SyntheticGleaner(bus.connect(), 3);
  older.isOlder = true;
  older.start(false);
  await pass(2);
  older.tick();
  await pass(2);
  // Of each function .5 core-seconds a second, of the first .25, and .01 s x its number.
  const { second } = older;
  const { harvestedTotal, lentTotal, savedTotal, harvestedCores } = collector.totals();
  t.deepEqual([harvestedTotal, lentTotal], [3 * 0.5 * second, 0.25 * second]);
  t.true(Math.abs(savedTotal - 0.01 * (0 + 1 + 2) * second) < 1e-9);
  t.true(harvestedCores > 0);
  older.stop();
  await pass(130);
  t.is(collector.totals().harvestedTotal, 0, 'the host is gone');
});

test('a paused agent host is shown as paused until it is resumed', async (t) => {
  const { bus, sent, pass } = stage(t);
  const gleaner = new SyntheticGleaner(bus.connect(), 3);
  t.teardown(() => gleaner.stop());
  gleaner.start(false);
  const paused = () =>
    sent
      .findLast(({ services }) => services !== undefined)
      ?.services?.flatMap((row) => (row.paused ? `${row.service} ${row.host}` : []));
  await pass(6);
  t.deepEqual(paused(), []);
  gleaner.agentsPaused = true;
  await pass(6);
  t.deepEqual(paused(), ['gleaner-agents agents0']);
  gleaner.agentsPaused = false;
  await pass(6);
  t.deepEqual(paused(), []);
});
