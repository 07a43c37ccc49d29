import test from 'ava';
import { EngineUnsupportedError } from '../../../../openwhisk-plugin/host/engine/engine-errors.js';
import { scripted } from './scripted-engine.js';
import { idOf } from './stub-engine.js';

const LATER = '2026-11-28T00:01:00Z';

test('running containers are announced with user limits before start resolves', async (t) => {
  const s = await scripted();
  s.add(1);
  const other = s.add(2);
  other.name = 'database';
  await s.engine.start(s.recorder);
  t.deepEqual(s.recorder.lines, ['bridges', 'started wsk0_1_guest_f', 'reconciled']);
  const [container] = s.recorder.started;
  t.is(container?.address, '172.17.0.2');
  t.is(container?.bridge, 'docker0');
  t.is(container?.user.shares, 128);
  t.deepEqual(s.recorder.bridges, [
    { interfaceName: 'docker0', networkName: 'bridge', gateway: '172.17.0.1' },
  ]);
  // Subscribe first, list second.
  const order = s.stub.requests.map(
    (request) => request.url.replace(/^\/v1\.41/, '').split('?')[0],
  );
  t.true(order.indexOf('/events') < order.indexOf('/containers/json'));
  t.true(s.stub.requests.every((request) => request.method === 'GET'));
  await s.close();
});

test('a container that ends between subscription and listing is not kept', async (t) => {
  const s = await scripted({ every: 30 });
  let once = true;
  s.state.beforeList = () => {
    if (!once) return;
    once = false;
    // Its start is told, it is in the list, and it is gone when inspect asks; die is told in
    // between.
    const brief = s.add(7);
    s.tell('container', 'start', brief.id, LATER, brief.name);
    setImmediate(() => {
      s.running.delete(brief.id);
      s.tell('container', 'die', brief.id, LATER);
    });
  };
  s.state.inspectDelay = 5;
  await s.engine.start(s.recorder);
  await s.recorder.until((r) => r.count('reconciled') >= 3);
  t.is(s.recorder.started.length, s.recorder.ended.length);
  await s.close();
});

test('a container whose end comes before its inspect answer is never announced', async (t) => {
  const s = await scripted();
  await s.engine.start(s.recorder);
  s.state.inspectDelay = 40;
  const brief = s.add(7);
  s.tell('container', 'start', brief.id, LATER, brief.name);
  s.tell('container', 'die', brief.id, LATER);
  s.state.inspectDelay = 0;
  const next = s.add(8);
  s.tell('container', 'start', next.id, LATER, next.name);
  await s.recorder.until((r) => r.count('started wsk0_8_guest_f') === 1);
  await new Promise((resolve) => setTimeout(resolve, 80));
  t.is(s.recorder.count('started wsk0_7_guest_f'), 0);
  await s.close();
});

test('each event of a container is announced once, also if it arrives twice', async (t) => {
  const s = await scripted();
  await s.engine.start(s.recorder);
  const c = s.add(3);
  for (const action of [
    'start',
    'start',
    'pause',
    'pause',
    'oom',
    'oom',
    'unpause',
    'update',
    'die',
    'die',
    'destroy',
  ]) {
    s.tell('container', action, c.id, LATER, c.name);
    if (action === 'start') await s.recorder.until((r) => r.started.length === 1);
  }
  await s.recorder.until((r) => r.ended.length === 1);
  t.deepEqual(s.recorder.lines.slice(2), [
    'started wsk0_3_guest_f',
    'paused wsk0_3_guest_f',
    'oom wsk0_3_guest_f',
    'resumed wsk0_3_guest_f',
    'ended wsk0_3_guest_f',
  ]);
  await s.close();
});

test('user limits changed by an update are announced as an update', async (t) => {
  const s = await scripted();
  const [changed, same] = [s.add(3), s.add(4)];
  const foreign = s.add(5);
  foreign.name = 'database';
  await s.engine.start(s.recorder);
  s.recorder.lines.length = 0;
  changed.host = { CpuShares: 1024, Memory: 209_715_200 };
  for (const { id, name } of [changed, same, foreign])
    s.tell('container', 'update', id, LATER, name);
  await s.recorder.until((r) => r.updated.length === 1);
  const { user } = s.recorder.updated[0]!;
  t.deepEqual([user.shares, user.memory as number], [1024, 209_715_200]);
  s.tell('container', 'pause', same.id, LATER, same.name);
  await s.recorder.until((r) => r.count('paused wsk0_4_guest_f') === 1);
  t.deepEqual(s.recorder.lines, ['updated wsk0_3_guest_f', 'paused wsk0_4_guest_f']);
  await s.close();
});

test('limits changed while no event arrived are found at the reconnect', async (t) => {
  const s = await scripted();
  const changed = s.add(3);
  await s.engine.start(s.recorder);
  changed.host = { CpuShares: 1024 };
  s.dropStreams();
  await s.recorder.until((r) => r.updated.length === 1);
  t.is(s.recorder.updated[0]?.user.shares, 1024);
  await s.close();
});

test('many updates lead to one inspection at a time, and few of each container', async (t) => {
  const s = await scripted();
  for (let n = 0; n < 5; n++) s.add(n);
  await s.engine.start(s.recorder);
  s.state.inspectDelay = 20;
  const before = s.stub.requests.length;
  const at = (n: number): string => `2026-11-28T00:01:00.${String(n).padStart(3, '0')}Z`;
  for (let i = 0; i < 100; i++)
    for (const { id, name } of s.running.values()) s.tell('container', 'update', id, at(i), name);
  await new Promise((resolve) => setTimeout(resolve, 1000));
  const inspections = s.stub.requests.length - before;
  t.true(inspections >= 5 && inspections <= 10, `${inspections}`);
  await s.close();
});

test('after a reconnect, starts and ends during the gap are known', async (t) => {
  const s = await scripted();
  const stays = s.add(1);
  const goes = s.add(2);
  const returns = s.add(3);
  await s.engine.start(s.recorder);
  s.running.delete(goes.id);
  s.add(4);
  s.running.set(returns.id, { ...returns, startedAt: '2026-11-28T00:05:00.5Z' });
  s.dropStreams();
  await s.recorder.until((r) => r.count('reconciled') === 2);
  t.is(s.recorder.count('down GLN_ENGINE_UNAVAILABLE'), 1);
  t.deepEqual(s.recorder.ended.map(({ id }) => id).sort(), [goes.id, returns.id].sort());
  t.is(s.recorder.count(`started ${stays.name}`), 1);
  t.is(s.recorder.count(`started ${returns.name}`), 2);
  t.is(s.recorder.count('started wsk0_4_guest_f'), 1);
  // The events of the gap are told late: the old die of a container that runs again means nothing.
  s.tell('container', 'die', returns.id, '2026-11-28T00:04:59Z');
  s.tell('container', 'pause', stays.id, LATER);
  await s.recorder.until((r) => r.count(`paused ${stays.name}`) === 1);
  t.is(s.recorder.ended.length, 2);
  await s.close();
});

test('without any event the periodic listing finds what changed', async (t) => {
  const s = await scripted({ every: 25 });
  const c = s.add(1);
  await s.engine.start(s.recorder);
  s.running.delete(c.id);
  s.add(2).paused = true;
  await s.recorder.until((r) => r.ended.length === 1 && r.started.length === 2);
  t.true(s.recorder.started[1]?.paused);
  await s.close();
});

test('a network that comes or goes changes the bridges', async (t) => {
  const s = await scripted();
  await s.engine.start(s.recorder);
  const network = {
    Id: 'feedfacecafe0123',
    Name: 'own',
    Driver: 'bridge',
    IPAM: { Config: [] },
    Options: {},
  };
  s.networks.push(network as never);
  s.tell('network', 'create', network.Id, LATER);
  await s.recorder.until((r) => r.bridges.length === 2);
  t.deepEqual(
    s.recorder.bridges.map((bridge) => bridge.interfaceName),
    ['br-feedfacecafe', 'docker0'],
  );
  s.networks.pop();
  s.tell('network', 'destroy', network.Id, LATER);
  await s.recorder.until((r) => r.bridges.length === 1);
  await s.close();
});

test('a stopped engine is asked for no other listing, whatever it still waits for', async (t) => {
  const s = await scripted();
  await s.engine.start(s.recorder);
  s.state.inspectDelay = 10_000;
  const late = s.add(7);
  s.tell('container', 'start', late.id, LATER, late.name);
  const asked = (path: string): number =>
    s.stub.requests.filter(({ url }) => url.includes(path)).length;
  while (asked(late.id) === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  const listings = asked('/networks');
  // Its inspection fails by that.
  await s.engine.stop();
  await new Promise((resolve) => setTimeout(resolve, 50));
  t.is(asked('/networks'), listings);
  await s.stub.close();
});

test('a container whose inspect is unreadable is counted and does not hide others', async (t) => {
  const s = await scripted();
  s.add(1).startedAt = 'never';
  s.add(2);
  await s.engine.start(s.recorder);
  t.deepEqual(
    s.recorder.started.map((c) => c.name),
    ['wsk0_2_guest_f'],
  );
  t.is(s.engine.unreadable, 1);
  await s.close();
});

test('an end that no event reported is announced as missing', async (t) => {
  const s = await scripted({ every: 30 });
  const [omitted, denied, dead] = [s.add(1), s.add(2), s.add(3)];
  await s.engine.start(s.recorder);
  s.tell('container', 'die', dead.id, LATER);
  await s.recorder.until((r) => r.ended.length === 1);
  s.state.beforeList = () => s.running.delete(omitted.id);
  await s.recorder.until((r) => r.ended.length === 2);
  // Its inspect answer alone does not show it running.
  denied.pid = 0;
  s.tell('container', 'update', denied.id, LATER, denied.name);
  await s.recorder.until((r) => r.ended.length === 3);
  t.deepEqual(s.recorder.ended, [
    { id: dead.id, isMissing: false },
    { id: omitted.id, isMissing: true },
    { id: denied.id, isMissing: true },
  ]);
  await s.close();
});

test('missing or absurd limits make a container unreadable, and the field is named', async (t) => {
  const s = await scripted();
  // The ranges are those of Docker's own checks.
  const odd: readonly [string, number | undefined][] = [
    ['CpuShares', undefined],
    ['NanoCpus', undefined],
    ['CpuQuota', undefined],
    ['CpuPeriod', undefined],
    ['Memory', undefined],
    ['MemorySwap', undefined],
    ['Memory', -5],
    ['Memory', 1e300],
    ['Memory', 4096],
    ['CpuShares', 1e6],
    ['CpuQuota', 999],
    ['CpuQuota', 1.5],
    ['CpuPeriod', 999],
    ['MemorySwap', 1.5],
  ];
  for (const [n, [field, value]] of odd.entries()) s.add(n).host = { [field]: value };
  s.add(odd.length).host = { CpuQuota: 1000, CpuPeriod: 1000, Memory: -1, MemorySwap: -1 };
  // Docker keeps any negative value of these two; each means no limit.
  s.add(odd.length + 1).host = { CpuQuota: -5, MemorySwap: -2 };
  await s.engine.start(s.recorder);
  t.deepEqual(s.recorder.started.map((c) => c.name).sort(), [
    `wsk0_${odd.length}_guest_f`,
    `wsk0_${odd.length + 1}_guest_f`,
  ]);
  t.is(s.engine.unreadable, odd.length);
  for (const [n, [field]] of odd.entries()) {
    const about = s.recorder.lines.filter((line) => line.includes(`/${idOf(n)}/json`));
    t.regex(about.join(), new RegExp(`^unreadable .* at HostConfig\\.${field}: `));
  }
  await s.close();
});

test('an update to limits that cannot be read leaves the known ones', async (t) => {
  const s = await scripted();
  const c = s.add(1);
  await s.engine.start(s.recorder);
  c.host = { Memory: undefined };
  s.tell('container', 'update', c.id, LATER, c.name);
  await s.recorder.until((r) => r.lines.some((line) => line.includes('HostConfig.Memory')));
  t.is(s.recorder.updated.length, 0);
  t.is(s.recorder.ended.length, 0);
  await s.close();
});

test('very many containers are all inspected, and one request slot stays free', async (t) => {
  // 200 answers of 20 ms take 1 s even where four run at once; a call may take 800 ms, waiting for
  // its slot included.
  const s = await scripted({ deadline: 800 });
  // Identifiers are filled up with `a`: from 0x1000 on they differ in four digits.
  for (let n = 0; n < 200; n++) s.add(0x1000 + n);
  s.state.inspectDelay = 20;
  await s.engine.start(s.recorder);
  t.is(s.recorder.started.length, 200);
  t.is(s.recorder.lines.at(-1), 'reconciled');
  // Three inspections and the event stream.
  t.true(s.stub.most() <= 4, `${s.stub.most()} open at once`);
  t.is((await s.engine.snapshot()).length, 200);
  await s.close();
});

test('an event that cannot be read, or comes in pieces, does not end the stream', async (t) => {
  const s = await scripted();
  const c = s.add(1);
  await s.engine.start(s.recorder);
  const [stream] = s.streams;
  stream?.write('garbage\n{"Type":1}\n');
  const line = JSON.stringify({
    Type: 'container',
    Action: 'pause',
    Actor: { ID: c.id },
    time: 1795824060,
  });
  stream?.write(line.slice(0, 30));
  await new Promise((resolve) => setTimeout(resolve, 10));
  stream?.write(`${line.slice(30)}\n`);
  await s.recorder.until((r) => r.count(`paused ${c.name}`) === 1);
  t.is(s.recorder.count('down GLN_ENGINE_ANSWER'), 0);
  await s.close();
});

test('a host’s facts are read from the engine; a host without cgroups is refused', async (t) => {
  const s = await scripted();
  t.deepEqual(await s.engine.facts(), {
    cpu: 2000 as never,
    memory: 8e9 as never,
    cgroupVersion: 1,
    cgroupDriver: 'cgroupfs',
    engineVersion: '20.10.24',
    apiVersion: '1.41',
  });
  Object.assign(s.state.info, { CgroupDriver: 'none', CgroupVersion: '1' });
  await t.throwsAsync(s.engine.facts(), { instanceOf: EngineUnsupportedError });
  await s.close();
});

test('a list names what cannot be read, and has given ids under any name', async (t) => {
  const s = await scripted();
  const [managed, odd, renamed, foreign] = [s.add(1), s.add(2), s.add(3), s.add(4)];
  renamed.name = 'renamed';
  foreign.name = 'database';
  // Inspect shows the names that the list does not.
  const nameless = { id: idOf(5), name: 'wsk0_5_guest_f', startedAt: LATER };
  const stranger = { id: idOf(6), name: 'cache', startedAt: LATER };
  s.state.oddEntries = [{ Id: 7 }, { Id: nameless.id, Names: null }, { Id: stranger.id }];
  s.state.beforeList = () => {
    for (const one of [nameless, stranger]) setImmediate(() => s.running.set(one.id, one));
  };
  odd.startedAt = 'yesterday';
  const found = await s.engine.list(new Set([renamed.id, idOf(9)]));
  t.deepEqual(
    found.containers.map(({ id }) => id).sort(),
    [managed.id, renamed.id, nameless.id].sort(),
  );
  t.deepEqual(found.unreadable, [odd.id]);
  t.is(found.unlisted, 1);
  await s.close();
});

test('a list that is too long for all names still has the given ids', async (t) => {
  const s = await scripted();
  const renamed = s.add(3);
  renamed.name = 'renamed';
  s.state.oddEntries = [{ Id: idOf(8), Names: ['/x'], Labels: 'x'.repeat(40_000_000) }];
  s.state.beforeList = () => {
    setImmediate(() => s.running.set(renamed.id, renamed));
    s.running.delete(renamed.id);
  };
  const found = await s.engine.list(new Set([renamed.id]));
  t.deepEqual(
    found.containers.map(({ name }) => name),
    ['renamed'],
  );
  await s.close();
});
