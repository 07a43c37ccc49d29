import test from 'ava';
import {
  buckets,
  functionToken,
  services,
  storedModes,
  subjects,
  wildcards,
} from '../../../broker/index.js';
import {
  decodeHostReport,
  decodeObservation,
  encodeMessage,
  MODE_GLOBAL,
  modeKey,
  type Observation,
} from '../../../broker/messages/index.js';
import { changeMode } from '../../../broker/mode-switch.js';
import { callService, hookService } from '../../../broker/services/index.js';
import { type Config, MIB } from '../../../config/index.js';
import { POLICY_WEIGHTS } from '../../../openwhisk-plugin/decision/index.js';
import { FEATURE_LAYOUT } from '../../../rules/index.js';
import { settle } from '../../support/settle.js';
import { type FakeContainer, HookRig } from './hook-rig.js';

const HELLO = '/guest/hello';

const target = (rig: HookRig, change: object = {}): object => ({
  v: 1,
  function: HELLO,
  cpu: 700,
  epoch: 5,
  echo: { host: 'host-a', boot: 'boot-1', observedAt: rig.platform.time.monotonic() },
  author: { host: 'agents-1', boot: 'agents-boot', sequence: 1, manager: 'greedy' },
  ...change,
});

/**
 * Policy `target` in quota mode, one clean call of peak 200: the range is [267, 1000] and the
 * target decides.
 */
async function targeted(): Promise<{
  rig: HookRig;
  container: FakeContainer;
  send: (message: object | Uint8Array) => Promise<void>;
}> {
  const rig = new HookRig((config) => Object.assign(config.decision.policy, { quota: 'target' }));
  await rig.start();
  const container = rig.container({ quota: 1000 });
  // 4 s of a fifth of a core: 800 CPU-ms do not fit into one period, so the rule for short calls
  // stays out.
  container.call(4000, 200);
  const send = async (message: object | Uint8Array): Promise<void> => {
    rig.other.publish(
      subjects.target(HELLO),
      message instanceof Uint8Array ? message : encodeMessage(message),
    );
    await settle();
  };
  return { rig, container, send };
}

test('a fresh target of the right boot is what the next activation gets', async (t) => {
  const { rig, container, send } = await targeted();
  t.is(container.quotaOfCall(), 1000);
  await send(target(rig));
  t.is(container.quotaOfCall(), 700);
  await rig.hook.stop();
});

test('a target goes stale by the clock of the hook, and user limits stand again', async (t) => {
  const { rig, container, send } = await targeted();
  await send(target(rig));
  rig.advance(29_000);
  t.is(container.quotaOfCall(), 700);
  rig.advance(2000);
  t.is(container.quotaOfCall(), 1000);
  await rig.hook.stop();
});

const bad: [kind: string, message: (rig: HookRig) => object | Uint8Array][] = [
  ['malformed', () => new TextEncoder().encode('{"v":1,')],
  ['malformed', (rig) => target(rig, { cpu: '0.5' })],
  ['not_finite', (rig) => target(rig, { cpu: Number.NaN })],
  [
    'malformed',
    (rig) => new TextEncoder().encode(JSON.stringify(target(rig)).replace('"cpu":700', '"cpu":-0')),
  ],
  [
    'not_finite',
    (rig) =>
      new TextEncoder().encode(JSON.stringify(target(rig)).replace('"cpu":700', '"cpu":1e309')),
  ],
  ['too_large', () => new Uint8Array(300_000)],
  ['out_of_range', (rig) => target(rig, { cpu: 60_000_000 })],
  ['wrong_version', (rig) => target(rig, { v: 2 })],
  ['stale', (rig) => target(rig, { echo: { host: 'host-a', boot: 'boot-1', observedAt: 0 } })],
  ['future', (rig) => target(rig, { echo: { host: 'host-a', boot: 'boot-1', observedAt: 1e12 } })],
  [
    'wrong_boot',
    (rig) =>
      target(rig, {
        echo: { host: 'host-a', boot: 'boot-0', observedAt: rig.platform.time.monotonic() },
      }),
  ],
  ['wrong_function', (rig) => target(rig, { function: '/guest/other' })],
];

for (const [index, [kind, message]] of bad.entries()) {
  test(`bad target ${index + 1} (${kind}): user limits apply, counted, logged once`, async (t) => {
    const { rig, container, send } = await targeted();
    rig.advance(40_000);
    for (let i = 0; i < 5; i++) await send(message(rig));
    t.is(container.quotaOfCall(), 1000);
    const { refused } = rig.hook.inspect().targets as { refused: Record<string, number> };
    t.is(refused[kind], 5, JSON.stringify(refused));
    t.is(rig.lines.filter((line) => line.message.startsWith('target refused')).length, 1);
    await rig.hook.stop();
  });
}

test('only targets count as refused targets', async (t) => {
  const { rig, send } = await targeted();
  const put = (bucket: (typeof buckets)[keyof typeof buckets], key: string, value: object) =>
    rig.other.keyValue(bucket).put(key, encodeMessage(value));
  await put(buckets.mode, modeKey('/guest/a'), { v: 1, mode: 'nonsense' });
  await put(buckets.policy, 'faasrm', { v: 1, policy: 'nonsense' });
  for (const name of ['/guest/a', '/guest/b']) {
    const settings = { v: 1, function: name, unreadable: ['gleaner.mdoe'] };
    await put(buckets.actions, functionToken(name), settings);
  }
  await put(buckets.actions, functionToken('/guest/c'), { v: 1, function: '/guest/d' });
  await send(target(rig, { v: 2 }));
  t.is(rig.lines.filter(({ level }) => level === 'warn').length, 5);
  t.deepEqual(rig.hook.figures().targets, { accepted: 0, refused: { wrong_version: 1 } });
  await rig.hook.stop();
});

test('replays, older epochs and second authors are refused; newer epochs are not', async (t) => {
  const { rig, container, send } = await targeted();
  const author = { host: 'agents-1', boot: 'agents-boot', sequence: 1, manager: 'greedy' };
  await send(target(rig));
  await send(target(rig, { cpu: 500 }));
  await send(target(rig, { cpu: 500, epoch: 4, author: { ...author, sequence: 9 } }));
  await send(target(rig, { cpu: 500, author: { ...author, boot: 'impostor', sequence: 9 } }));
  t.is(container.quotaOfCall(), 700);
  const { refused } = rig.hook.inspect().targets as { refused: Record<string, number> };
  t.like(refused, { replayed: 1, old_epoch: 1, wrong_author: 1 });
  await send(target(rig, { cpu: 600, epoch: 6, author: { ...author, boot: 'successor' } }));
  t.is(container.quotaOfCall(), 600);
  await rig.hook.stop();
});

test('a target for another host or an unknown function is not refused', async (t) => {
  const { rig, container, send } = await targeted();
  await send(target(rig, { echo: { host: 'host-b', boot: 'x-boot', observedAt: 3 } }));
  t.is(container.quotaOfCall(), 1000);
  t.like(rig.hook.inspect().targets, { elsewhere: 1, refused: {} });
  await rig.hook.stop();
});

test('a new owner’s target for another host ends the previous epoch here too', async (t) => {
  const { rig, container, send } = await targeted();
  const author = { host: 'agents-1', boot: 'agents-boot', sequence: 1, manager: 'greedy' };
  const successor = { host: 'agents-2', boot: 'successor', sequence: 1, manager: 'greedy' };
  await send(target(rig));
  await send(
    target(rig, {
      epoch: 6,
      cpu: 400,
      author: successor,
      echo: { host: 'host-b', boot: 'x-boot', observedAt: 3 },
    }),
  );
  t.is(container.quotaOfCall(), 700, 'not the answer to the other host');
  await send(target(rig, { cpu: 500, author: { ...author, sequence: 2 } }));
  t.is(container.quotaOfCall(), 700, 'the previous owner is refused');
  t.like(rig.hook.inspect().targets, { elsewhere: 1, refused: { old_epoch: 1 } });
  await send(target(rig, { epoch: 6, cpu: 600, author: { ...successor, sequence: 2 } }));
  t.is(container.quotaOfCall(), 600);
  await rig.hook.stop();
});

test('an epoch is forgotten after ten stale times without a target', async (t) => {
  const { rig, container, send } = await targeted();
  await send(target(rig, { epoch: 900, echo: { host: 'host-b', boot: 'x-boot', observedAt: 3 } }));
  await send(target(rig));
  t.is(container.quotaOfCall(), 1000);
  // Targets are stale after 30 s: 300 s later a recreated store of leases may begin at 1.
  rig.advance(301_000);
  await settle();
  await send(target(rig, { epoch: 1 }));
  t.is(container.quotaOfCall(), 700);
  await rig.hook.stop();
});

for (const [title, userMemory, counts] of [
  ['of the same size', 256 * MIB, true],
  ['of another size', 512 * MIB, false],
] as const) {
  test(`another host's memory peak ${title} ${counts ? 'counts' : 'does not count'}`, async (t) => {
    const rig = new HookRig((config) => {
      Object.assign(config.decision.policy, { quota: 'smallest-in-range' });
      Object.assign(config.decision.memory, { policy: 'faasrm' });
    });
    await rig.start();
    const container = rig.container({ quota: 1000 });
    for (let i = 0; i < 3; i++) container.call(1000, 200);
    const range = async (): Promise<number> => {
      const connection = container.run();
      container.work(60, 200);
      container.answer(connection);
      return rig.hook.explain(HELLO)[0]!.memory.lower;
    };
    const before = await range();
    const peak = { userMemory, memory: 200 * MIB };
    rig.other.publish(
      subjects.target(HELLO),
      encodeMessage(target(rig, { peak, echo: { host: 'host-b', boot: 'x-boot', observedAt: 3 } })),
    );
    await settle();
    const after = await range();
    // Least limit above a peak of 200 MiB: the peak / (theta_spike - .05) = 266.7 MiB, so not below
    // the user's 256 MiB.
    t.true(before < 100 * MIB, `${before / MIB} MiB by its own peak of 40`);
    t.is(after, counts ? 256 * MIB : before);
    await rig.hook.stop();
  });
}

test('without NATS targets become stale, and new ones count once it is back', async (t) => {
  const { rig, container, send } = await targeted();
  await send(target(rig));
  rig.bus.takeDown();
  t.is(container.quotaOfCall(), 700);
  for (let i = 0; i < 60; i++) {
    rig.advance(1000);
    await settle();
  }
  t.is(container.quotaOfCall(), 1000);
  rig.bus.bringUp();
  await settle();
  await send(target(rig, { epoch: 6 }));
  t.is(container.quotaOfCall(), 700);
  t.is(rig.lines.filter((line) => line.message.startsWith('NATS is disconnected')).length, 1);
  await rig.hook.stop();
});

test('without NATS at all the hook runs on local policies', async (t) => {
  const rig = await new HookRig().start(null);
  const container = rig.container({ quota: 1000 });
  container.call(4000, 200);
  t.true(container.quotaOfCall() < 1000);
  await rig.hook.stop();
});

test('twenty activations close a step, and its observation says what was granted', async (t) => {
  const rig = await new HookRig().start();
  const seen: Observation[] = [];
  rig.other.subscribe(wildcards.observations, (message) => {
    const decoded = decodeObservation(message.data);
    t.true(decoded.ok);
    if (decoded.ok) seen.push(decoded.message);
  });
  const container = rig.container({ quota: 1000 });
  for (let i = 0; i < 20; i++) container.call(100, 200);
  rig.advance(100);
  await settle();
  t.is(seen.length, 1);
  t.like(seen[0], {
    function: HELLO,
    host: 'host-a',
    boot: 'boot-1',
    step: 0,
    activations: 20,
    coldStarts: 1,
    failures: 0,
  });
  t.deepEqual(seen[0]?.user, { cpu: 1000, memory: 256 * MIB, shares: 128 });
  t.is(Number(seen[0]?.granted.cpu.max), 1000);
  t.true(seen[0]!.granted.cpu.min < 1000);
  // 20 calls of 100 ms, the first after 20 ms of init.
  t.is(seen[0]?.latency.sum, 2020);
  t.is(seen[0]?.latency.max, 120);
  await rig.hook.stop();
});

test('an observation shows if shares are no part of the invoker’s user-memory', async (t) => {
  const rig = await new HookRig().start();
  const seen: Observation[] = [];
  rig.other.subscribe(wildcards.observations, (message) => {
    const decoded = decodeObservation(message.data);
    if (decoded.ok) seen.push(decoded.message);
  });
  rig.container({ shares: 1024, sharesAreRequest: true }).call(100, 200);
  rig.advance(10_200);
  await settle();
  t.deepEqual(
    seen.map(({ user }) => user.sharesFollowMemory),
    [false],
  );
  await rig.hook.stop();
});

test('ten seconds close a step with at least one activation, and none without', async (t) => {
  const rig = await new HookRig().start();
  let seen = 0;
  rig.other.subscribe(wildcards.observations, () => {
    seen++;
  });
  const container = rig.container({ quota: 1000 });
  container.call(100, 200);
  rig.advance(10_200);
  await settle();
  t.is(seen, 1);
  rig.advance(30_000);
  await settle();
  t.is(seen, 1);
  await rig.hook.stop();
});

test('the host reports its capacity and what is free', async (t) => {
  const { rig, container } = await targeted();
  let report: ReturnType<typeof decodeHostReport> | undefined;
  rig.other.subscribe(wildcards.hostReports, (message) => {
    report = decodeHostReport(message.data);
  });
  container.run();
  rig.advance(10_000);
  await settle();
  t.true(report?.ok);
  if (report?.ok) {
    t.like(report.message, {
      host: 'host-a',
      functions: 1,
      containers: 1,
      running: 1,
      mode: 'enforce',
    });
    t.is(Number(report.message.capacity.cpu), 8000);
    t.is(Number(report.message.pool.cpu), 7000);
  }
  await rig.hook.stop();
});

test('a changed report interval applies at once, and the reports carry it', async (t) => {
  const { rig } = await targeted();
  const seen: [number, number | undefined][] = [];
  const now = (): number => rig.platform.time.monotonic();
  rig.other.subscribe(wildcards.hostReports, (message) => {
    const report = decodeHostReport(message.data);
    seen.push([now(), report.ok ? report.message.interval : 0]);
  });
  const until = async (seconds: number): Promise<void> => {
    while (now() < seconds * 1000) {
      rig.advance(1000 - (now() % 1000));
      await settle();
    }
  };
  const reloaded = async (stepS: number): Promise<void> => {
    const next = structuredClone(rig.config) as Config;
    Object.assign(next.hook, { stepS });
    rig.hook.reload(next);
    await settle();
  };
  await until(12);
  // The aggregator must not wait for a report that comes 20 s later.
  await reloaded(20);
  await until(34);
  await reloaded(20);
  await reloaded(2);
  await until(38);
  t.deepEqual(seen, [
    [10_000, 10_000],
    [12_000, 20_000],
    [32_000, 20_000],
    [34_000, 2000],
    [36_000, 2000],
    [38_000, 2000],
  ]);
  await rig.hook.stop();
});

test('the host report has the CPU use since the last one, as the kernel counted', async (t) => {
  const { rig, container } = await targeted();
  const used: (number | undefined)[] = [];
  rig.other.subscribe(wildcards.hostReports, (message) => {
    const report = decodeHostReport(message.data);
    if (report.ok) used.push(report.message.used?.cpu);
  });
  const reports = async (count: number): Promise<void> => {
    for (let i = 0; i < 40 && used.length < count; i++) {
      rig.advance(500);
      await settle();
    }
  };
  await reports(1);
  // 2 s at one core within 10 s: 200 millicores, whatever was granted.
  const connection = container.run();
  container.work(2000, 1000);
  container.answer(connection);
  await reports(2);
  t.is(used[0], undefined, 'nothing to compare with yet');
  t.true(Math.abs((used[1] ?? 0) - 200) <= 20, `${used[1]}`);
  await reports(3);
  t.is(used[2], 0);
  await rig.hook.stop();
});

test('messages never carry a payload and stay small', async (t) => {
  const { rig, container } = await targeted();
  let largest = 0;
  rig.other.subscribe(wildcards.everything, (message) => {
    largest = Math.max(largest, message.data.byteLength);
  });
  for (let i = 0; i < 40; i++) container.call(100, 200);
  rig.advance(12_000);
  await settle();
  t.true(largest > 0 && largest < 4096, String(largest));
  await rig.hook.stop();
});

test('the kill switch by key-value restores first and holds until it is released', async (t) => {
  const { rig, container, send } = await targeted();
  await send(target(rig));
  const connection = container.run();
  t.is(container.cgroup.inForce.quota, 700);
  const mode = rig.other.keyValue(buckets.mode);
  await mode.put(MODE_GLOBAL, encodeMessage({ v: 1, kill: true, author: 'test' }));
  await settle();
  t.is(container.cgroup.inForce.quota, 1000);
  container.answer(connection);
  t.is(container.quotaOfCall(), 1000);
  await mode.put(MODE_GLOBAL, encodeMessage({ v: 1, kill: false, author: 'test' }));
  await settle();
  t.is(container.quotaOfCall(), 700);
  await rig.hook.stop();
});

const unreadableModes: [what: string, value: object | Uint8Array][] = [
  ['no author', { v: 1, kill: true }],
  ['a text for a boolean', { v: 1, kill: 'true', paused: 'true', author: 'me' }],
  ['a newer version', { v: 2, author: 'me' }],
  ['no JSON', new TextEncoder().encode('kill')],
];

for (const [what, value] of unreadableModes) {
  const data = value instanceof Uint8Array ? value : encodeMessage(value);
  test(`a stored mode with ${what} holds the kill switch, also at a start`, async (t) => {
    const rig = new HookRig();
    const mode = rig.other.keyValue(buckets.mode);
    await mode.put(MODE_GLOBAL, data);
    await rig.start();
    t.teardown(() => rig.hook.stop());
    await settle();
    const host = () => rig.hook.figures().host;
    t.deepEqual([host().killedBy, host().unreadableModes], [['kv_unreadable'], 1]);
    await mode.put(MODE_GLOBAL, encodeMessage({ v: 1, kill: true, author: 'test' }));
    await settle();
    t.deepEqual([host().killedBy, host().unreadableModes], [['kv'], 0]);
    await mode.put(MODE_GLOBAL, data);
    await settle();
    t.true(host().killed);
    await changeMode(rig.other, null, { mode: 'observe' }, { author: 'test' });
    await settle();
    t.deepEqual([host().mode, host().killedBy], ['observe', ['kv']], 'another change keeps it');
    await changeMode(rig.other, null, { kill: false }, { author: 'test' });
    await settle();
    t.false(host().killed);
  });

  test(`a stored mode of a function with ${what} pauses it`, async (t) => {
    const { rig, container, send } = await targeted();
    await send(target(rig));
    t.is(container.quotaOfCall(), 700);
    const mode = rig.other.keyValue(buckets.mode);
    await mode.put(modeKey(HELLO), data);
    await settle();
    t.is(container.quotaOfCall(), 1000);
    t.is(rig.hook.figures().host.unreadableModes, 1);
    t.deepEqual(await storedModes(rig.other), {
      global: null,
      functions: new Map(),
      unreadable: [HELLO],
    });
    await changeMode(rig.other, HELLO, { mode: 'enforce' }, { author: 'test' });
    await settle();
    t.is(container.quotaOfCall(), 1000, 'another change keeps the pause');
    await changeMode(rig.other, HELLO, { paused: false }, { author: 'test' });
    await settle();
    t.is(container.quotaOfCall(), 700);
    await mode.put(modeKey(HELLO), data);
    await mode.delete(modeKey(HELLO));
    await settle();
    t.is(container.quotaOfCall(), 700);
    t.is(rig.hook.figures().host.unreadableModes, 0);
    await rig.hook.stop();
  });
}

test('a function can be paused and resumed, and its mode set by key-value', async (t) => {
  const { rig, container, send } = await targeted();
  await send(target(rig));
  const call = (endpoint: string, request?: object): Promise<unknown> =>
    callService(rig.other, { service: services.hook, endpoint, host: 'host-a', request });
  t.is(container.quotaOfCall(), 700);
  await call('pause', { function: HELLO });
  t.is(container.quotaOfCall(), 1000);
  await call('resume', { function: HELLO });
  t.is(container.quotaOfCall(), 700);
  const author = { author: 'test' };
  await changeMode(rig.other, HELLO, { mode: 'observe' }, author);
  await settle();
  t.is(container.quotaOfCall(), 1000);
  // A pause is kept beside the mode, and outlives it.
  await changeMode(rig.other, HELLO, { paused: true }, author);
  await changeMode(rig.other, HELLO, { mode: null }, author);
  await settle();
  t.is(container.quotaOfCall(), 1000);
  t.like(rig.hook.inspect({ function: HELLO }).functions[0], { mode: 'enforce', paused: true });
  await changeMode(rig.other, HELLO, { paused: false }, author);
  await settle();
  t.is(container.quotaOfCall(), 700);
  t.is((await storedModes(rig.other)).functions.size, 0, 'what stays has no effect');
  await rig.hook.stop();
});

test('each change of mode is audited with its author, cause and reason', async (t) => {
  const { rig } = await targeted();
  const by = (author: string, reason?: string) => ({ author, ...(reason && { reason }) });
  await changeMode(rig.other, null, { mode: 'observe' }, by('cli:ann', 'incident 42'));
  await changeMode(rig.other, HELLO, { paused: true }, by('cli:ann', 'x'.repeat(600)));
  await settle();
  const before = rig.hook.inspect({ function: HELLO }).functions[0];
  t.like(before, { paused: true }, 'a reason that is too long is cut');
  await changeMode(rig.other, HELLO, { paused: false }, by('dashboard'));
  await changeMode(rig.other, null, { mode: null, kill: true }, by('cli:bob', 'drill'));
  await settle();
  const call = (endpoint: string, request: object): Promise<unknown> =>
    callService(rig.other, { service: services.hook, endpoint, request });
  await changeMode(rig.other, null, { kill: false }, by('cli:bob'));
  await settle();
  await call('pause', { function: HELLO, author: 'cli:eve', reason: 'slow' });
  rig.hook.toggleKillSwitch();
  await rig.hook.stop();
  t.deepEqual(rig.modeChanges(), [
    ['operator:cli:ann', 'mode_set', 'incident 42'],
    ['operator:cli:ann', 'paused', 'x'.repeat(512)],
    ['operator:dashboard', 'resumed', ''],
    ['operator:cli:bob', 'kill_switch_on', 'drill'],
    ['operator:cli:bob', 'mode_set', 'drill'],
    ['operator:cli:bob', 'kill_switch_off', ''],
    ['operator:cli:eve', 'paused', 'slow'],
    ['kill_switch:signal', 'kill_switch_on', ''],
  ]);
  t.deepEqual(rig.modeChanges('audit-modes.jsonl'), rig.modeChanges());
  t.is(rig.auditLines('audit-modes.jsonl').length, rig.modeChanges().length, 'nothing else');
});

test('the service lists, inspects, explains, restores, and returns error codes', async (t) => {
  const { rig, container } = await targeted();
  const call = (endpoint: string, request?: object): Promise<unknown> =>
    callService(rig.other, { service: services.hook, endpoint, request });
  t.like(await call('list'), { functions: [HELLO] });
  t.like(await call('inspect'), {
    host: { host: 'host-a', mode: 'enforce', killed: false, activations: 1 },
  });
  const explained = (await call('explain', { function: HELLO })) as {
    activations: { durationMillis: number }[];
  };
  t.is(explained.activations[0]?.durationMillis, 4000);
  await call('mode', { mode: 'recommend' });
  t.like(await call('mode', {}), { mode: 'recommend' });
  await call('mode', { mode: null });
  t.like(await call('mode', {}), { mode: 'enforce' });
  container.cgroup.setShares(999);
  t.like(await call('restore', {}), { restored: 1, failed: 0 });
  t.is(container.cgroup.inForce.shares, 128);
  for (const endpoint of ['list', 'inspect', 'explain', 'mode', 'restore'] as const) {
    // The answer equals its schema, which is the reference.
    const answer = await call(endpoint, endpoint === 'restore' ? {} : { function: HELLO });
    t.deepEqual(hookService[endpoint].answer.parse(answer), answer, endpoint);
  }
  t.like(await call('inspect', { offset: 1 }), { total: 1, functions: [] });
  t.like(await call('inspect', { offset: 0, containers: 0 }), {
    functions: [{ name: HELLO }],
    containers: [],
  });
  t.like(await call('inspect', { function: '/guest/none' }), { functions: [], containers: [] });
  await t.throwsAsync(() => call('explain', { function: 'no slash' }), {
    message: /not the name of an action/,
  });
  await rig.hook.stop();
});

test('a mode that something restricts is answered with the reason', async (t) => {
  const excluded = '/whisk.system/x';
  const rig = await new HookRig().start();
  const mode = (request: object): Promise<unknown> =>
    callService(rig.other, { service: services.hook, endpoint: 'mode', request });
  t.like(await mode({ function: excluded, mode: 'enforce' }), {
    mode: 'observe',
    restrictedBy: 'functions.exclude',
  });
  t.like(await mode({ function: HELLO, mode: 'recommend' }), {
    mode: 'recommend',
    restrictedBy: null,
  });
  await rig.other
    .keyValue(buckets.actions)
    .put(functionToken(HELLO), encodeMessage({ v: 1, function: HELLO, mode: 'observe' }));
  await settle();
  t.like(await mode({ function: HELLO }), { mode: 'observe', restrictedBy: 'annotations' });
  await rig.hook.stop();
});

test('a request for a change with an unknown or contradictory field changes nothing', async (t) => {
  const { rig } = await targeted();
  const call = (endpoint: string, request: object): Promise<unknown> =>
    callService(rig.other, { service: services.hook, endpoint, request });
  for (const [endpoint, request, message] of [
    ['restore', { Hold: true }, /"Hold"/],
    ['restore', { hold: true, release: true }, /hold and release/],
    ['mode', { functon: HELLO, mode: 'observe' }, /"functon"/],
    ['pause', { function: HELLO, Paused: false }, /"Paused"/],
    ['resume', { function: HELLO, for: 5 }, /"for"/],
  ] as const)
    await t.throwsAsync(() => call(endpoint, request), { message }, endpoint);
  t.like(rig.hook.inspect().host, { mode: 'enforce', killed: false });
  t.like(await call('restore', { hold: true }), { failed: 0, killedBy: ['service'] });
  await rig.other
    .keyValue(buckets.mode)
    .put(MODE_GLOBAL, encodeMessage({ v: 1, kill: true, author: 'test' }));
  await settle();
  t.deepEqual(await call('restore', { release: true }), {
    restored: 0,
    failed: 0,
    killedBy: ['kv'],
  });
  await rig.hook.stop();
});

test('policy parameters over key-value are taken, and bad ones leave the old ones', async (t) => {
  const rig = await new HookRig().start();
  const put = (value: object): Promise<number> =>
    rig.other.keyValue(buckets.policy).put('short-first', encodeMessage(value));
  await put({
    v: 1,
    policy: 'short-first',
    function: null,
    parameters: { alpha: 0.5 },
    source: 'test',
  });
  await settle();
  t.like(rig.hook.inspect().policies[0], { policy: 'short-first', source: 'test' });
  await put({
    v: 1,
    policy: 'short-first',
    function: null,
    parameters: { alpha: 77 },
    source: 'broken',
  });
  await settle();
  t.like(rig.hook.inspect().policies[0], { source: 'test' });
  t.is(rig.lines.filter((line) => line.message.startsWith('policy parameters refused')).length, 1);
  await rig.hook.stop();
});

test('FaaSRM’s weights from key-value decide; damaged ones are refused', async (t) => {
  const rig = new HookRig((config) => Object.assign(config.decision.policy, { quota: 'faasrm' }));
  await rig.start();
  t.teardown(() => rig.hook.stop());
  const container = rig.container({ quota: 1000 });
  const quotaOfNext = (): number => {
    const connection = container.run();
    const { quota } = container.cgroup.inForce;
    // Long enough that no rule for short runs raises the limit.
    container.work(2000, 200);
    container.answer(connection);
    return quota;
  };
  const put = (weights: readonly number[], layout = FEATURE_LAYOUT): Promise<number> => {
    const value = {
      v: 1,
      policy: 'faasrm',
      function: null,
      parameters: { layout },
      weights,
      source: 'test',
    };
    return rig.other.keyValue(buckets.policy).put('faasrm', encodeMessage(value));
  };
  quotaOfNext();
  t.is(quotaOfNext(), 1000, 'no weights: user limits');
  // The score falls with the option's CPU (its tenth input): the lower end of [200 / .75, 1000].
  const least = new Array<number>(POLICY_WEIGHTS).fill(0);
  least[9 * 32] = 1;
  least[11 * 32 + 32] = 1;
  least[12 * 32 + 33 * 16] = -1;
  await put(least);
  await settle();
  t.true(Math.abs(quotaOfNext() - 267) <= 1);
  for (const [damaged, layout] of [
    [least.slice(1), FEATURE_LAYOUT],
    [least.with(3, 1e9), FEATURE_LAYOUT],
    [least.map((weight) => -weight), FEATURE_LAYOUT + 1],
  ] as const) {
    await put(damaged, layout);
    await settle();
    t.true(Math.abs(quotaOfNext() - 267) <= 1);
  }
  t.is(
    rig.lines.filter((line) => line.message.startsWith('policy parameters refused')).length,
    1,
    'said once',
  );
  t.like(rig.hook.inspect().policies[0], { policy: 'faasrm', weights: POLICY_WEIGHTS });
});
