import test from 'ava';
import type { AgentHostRun } from '../../../agents/host/agent-host.js';
import { runAgentHost } from '../../../agents/host/index.js';
import { SHARDS } from '../../../agents/host/sharing/index.js';
import type { ResourceManager } from '../../../agents/index.js';
import { createManager, fixedManager } from '../../../agents/managers/index.js';
import { validated } from '../../../agents/validation.js';
import { type Broker, buckets, functionToken, subjects, wildcards } from '../../../broker/index.js';
import { runAggregator } from '../../../broker/mean-field/index.js';
import {
  type AgentReport,
  decodeAgentReport,
  decodeAgentsPartial,
  decodeTarget,
  encodeMessage,
  type Target,
} from '../../../broker/messages/index.js';
import { decodeOwnRegistration } from '../../../broker/messages/values.js';
import { agentsService, callService, findServices } from '../../../broker/services/index.js';
import { type Millicores, mebibytes, millis, SeededRandom } from '../../../config/index.js';
import { ManualTime } from '../../support/manual-time.js';
import { MemoryBus } from '../../support/memory-broker/memory-bus.js';
import { observation } from '../../support/observations.js';
import { settle } from '../../support/settle.js';

const cap = { cpu: 4000 as Millicores, memory: mebibytes(1024) };

function stage() {
  const time = new ManualTime();
  const bus = new MemoryBus(time);
  const hook = bus.connect();
  const targets: Target[] = [];
  hook.subscribe(wildcards.targets, (message) => {
    const decoded = decodeTarget(message.data);
    if (!decoded.ok) throw new Error(decoded.detail);
    targets.push(decoded.message);
  });
  const start = (host: string, changes: Partial<AgentHostRun> = {}) =>
    runAgentHost({
      broker: bus.connect(),
      clock: time,
      timers: time,
      random: new SeededRandom(1),
      manager: createManager('greedy', { cap }),
      intervalMs: 1000,
      host,
      ...changes,
    });
  const pass = async (by: number): Promise<void> => {
    for (let i = 0; i < by; i += 100) {
      time.advance(millis(100));
      await settle();
    }
  };
  return { time, bus, hook, targets, start, pass };
}

const send = (hook: Broker, step: number, fn = '/guest/hello', changes = {}): void => {
  hook.publish(
    subjects.observation(fn),
    encodeMessage(observation({ function: fn, step, ...changes })),
  );
};

test('an observation is answered by a target with its echo, an epoch and an author', async (t) => {
  const { hook, targets, start } = stage();
  const agents = start('agents-1', { boot: 'boot-1' });
  await settle();
  t.is(agents.ownedShards, SHARDS);
  send(hook, 1);
  send(hook, 2, '/guest/hello', { observedAt: 7000 });
  await settle();
  t.is(targets.length, 2);
  const [first, second] = targets;
  t.deepEqual(first?.echo, { host: 'invoker-1', boot: 'hook-boot', observedAt: millis(5000.5) });
  t.is(second?.echo.observedAt, millis(7000));
  t.deepEqual(first?.author, { host: 'agents-1', boot: 'boot-1', sequence: 1, manager: 'greedy' });
  t.true(first!.epoch >= 1);
  t.is(first?.cpu, 1000 as Millicores);
  t.is(second?.cpu, 750 as Millicores);
  await agents.stop();
});

test('its service reports the engine of the networks, for gleaner status', async (t) => {
  const { bus, start, pass } = stage();
  const agents = start('agents-1', { engine: 'simd' });
  await settle();
  const asked = findServices(bus.connect(), 'gleaner-agents', millis(100));
  await pass(1000);
  const [found] = await asked;
  t.like(found?.metadata, { host: 'agents-1', engine: 'simd' });
  await agents.stop();
});

test('malformed, repeated and misaddressed observations are counted only', async (t) => {
  const { hook, targets, start } = stage();
  const agents = start('agents-1');
  await settle();
  send(hook, 2);
  send(hook, 2);
  send(hook, 1);
  hook.publish(
    subjects.observation('/guest/hello'),
    new TextEncoder().encode('{"v":1,"span":1e999}'),
  );
  hook.publish(subjects.observation('/guest/other'), encodeMessage(observation({ step: 3 })));
  await settle();
  t.is(targets.length, 1);
  const list = (await callService(hook, { service: 'gleaner-agents', endpoint: 'list' })) as {
    observations: Record<string, number>;
  };
  const { repeated, out_of_order: outOfOrder, not_finite: notFinite } = list.observations;
  t.deepEqual([repeated, outOfOrder, notFinite, agents.counts.wrongSubject], [1, 1, 1, 1]);
  await agents.stop();
});

test('no target is sent if a manager throws or returns NaN, and the host continues', async (t) => {
  const { hook, targets, start } = stage();
  let call = 0;
  const broken = {
    ...fixedManager(),
    decide: () => {
      call++;
      if (call === 1) throw new Error('broken');
      return {
        state: null,
        decision: { cpu: Number.NaN as Millicores, actions: [0, 0, 0] as const },
      };
    },
  };
  const agents = start('agents-1', { manager: broken });
  await settle();
  send(hook, 1);
  send(hook, 2);
  await settle();
  t.is(targets.length, 0);
  t.is(agents.counts.failedDecisions, 2);
  await agents.stop();
});

test('failed decisions are logged each minute, for each manager', async (t) => {
  const { hook, start, pass } = stage();
  const lines: { readonly fields: object; readonly message: string }[] = [];
  const note = (fields: object, message: string): void => void lines.push({ fields, message });
  const logger = { debug: () => {}, info: () => {}, warn: () => {}, error: note };
  const broken = (name: string): ResourceManager => ({
    ...fixedManager(),
    name,
    decide: () => {
      throw new Error(`${name} is broken`);
    },
  });
  const [first, second] = [broken('first'), broken('second')];
  const manager = (fn: string): ResourceManager => (fn === '/guest/b' ? second : first);
  const agents = start('agents-1', { manager, logger });
  await settle();
  for (let step = 1; step <= 3; step++) {
    for (const fn of ['/guest/a', '/guest/b', '/guest/c']) send(hook, step, fn);
    await pass(100);
  }
  const logged = (name: string, fn: string, suppressedLines: number) => ({
    fields: {
      kind: `decision ${name}`,
      function: fn,
      manager: name,
      error: `${name} is broken`,
      suppressedLines,
    },
    message: 'decision failed: no target sent',
  });
  t.deepEqual(lines, [logged('first', '/guest/a', 0), logged('second', '/guest/b', 0)]);
  lines.length = 0;
  await pass(60_000);
  send(hook, 4, '/guest/c', { observedAt: 65_000 });
  await pass(100);
  // Three of /guest/c and two of /guest/a.
  t.deepEqual(lines, [logged('first', '/guest/c', 5)]);
  t.is(agents.counts.failedDecisions, 10);
  await agents.stop();
});

test('the reward of a closed step is reported and counted if it is a number', async (t) => {
  const { hook, start } = stage();
  const told: (number | undefined)[] = [];
  hook.subscribe(wildcards.agentReports, (message) => {
    const decoded = decodeAgentReport(message.data);
    if (decoded.ok) told.push(decoded.message.reward);
  });
  const given = [undefined, 0.65, Number.NaN, -0.3];
  const decision = { actions: [0, 0, 0] as const };
  const learner: ResourceManager = {
    ...fixedManager(),
    decide: () => {
      const reward = given.shift();
      return reward === undefined ? { state: null, decision } : { state: null, decision, reward };
    },
  };
  const agents = start('agents-1', { manager: validated(learner, cap) });
  await settle();
  for (let step = 1; step <= 4; step++) send(hook, step);
  await settle();
  t.deepEqual(told, [undefined, 0.65, undefined, -0.3]);
  const { bounds, counts, sum } = agents.rewards;
  // .65 lies in (.6, .7], -.3 in (-.5, -.25].
  const filled = [...counts].flatMap((count, i) => (count > 0 ? [[bounds[i], count]] : []));
  t.deepEqual(filled, [
    [-0.25, 1],
    [0.7, 1],
  ]);
  t.is(sum, 0.65 - 0.3);
  t.is(
    agents.steps.histograms.observe.counts.reduce((all, count) => all + count),
    4,
  );
  await agents.stop();
});

test('a function is registered, reported, listed, inspected, paused and resumed', async (t) => {
  const { hook, targets, start } = stage();
  const reports: AgentReport[] = [];
  hook.subscribe(wildcards.agentReports, (message) => {
    const decoded = decodeAgentReport(message.data);
    if (decoded.ok) reports.push(decoded.message);
  });
  const agents = start('agents-1');
  await settle();
  send(hook, 1);
  await settle();
  const entry = await hook.keyValue(buckets.functions).get(functionToken('/guest/hello'));
  const registration = decodeOwnRegistration(entry!.value!);
  t.true(
    registration.ok &&
      registration.message.manager === 'greedy' &&
      registration.message.agentHost === 'agents-1',
  );
  t.is(reports[0]?.features.length, 6);
  const call = (endpoint: string, request?: unknown): Promise<unknown> =>
    callService(hook, { service: 'gleaner-agents', endpoint, request });
  const list = (await call('list')) as { functions: { function: string; manager: string }[] };
  t.deepEqual(
    list.functions.map((one) => [one.function, one.manager]),
    [['/guest/hello', 'greedy']],
  );
  t.like(list, { total: 1, phases: { managing: 1 }, managers: { greedy: 1 } });
  for (const endpoint of ['list', 'inspect', 'explain'] as const) {
    // The answer has exactly the documented fields.
    const request = endpoint === 'list' ? {} : { function: '/guest/hello' };
    const answer = await call(endpoint, request);
    t.deepEqual(agentsService[endpoint].answer.parse(answer), answer, endpoint);
  }
  const { decisions } = (await call('explain', { function: '/guest/hello' })) as {
    decisions: { sent: boolean }[];
  };
  t.deepEqual(
    decisions.map(({ sent }) => sent),
    [true],
  );
  const seen = (await call('inspect', { function: '/guest/hello' })) as {
    hosts: string[];
    phase: string;
  };
  t.deepEqual([seen.hosts, seen.phase], [['invoker-1'], 'managing']);
  await t.throwsAsync(call('inspect', { function: '/guest/none' }), { message: /no agent/ });
  await t.throwsAsync(call('inspect', {}), { message: /^function: / });
  await t.throwsAsync(call('retrain', { function: '/guest/hello' }), {
    message: /not supported by this manager/,
  });
  await call('pause', { function: '/guest/hello' });
  send(hook, 2);
  await settle();
  t.is(targets.length, 1);
  await call('resume', { function: '/guest/hello' });
  await call('pause');
  send(hook, 3);
  await settle();
  t.is(targets.length, 1);
  await call('resume');
  send(hook, 4);
  await settle();
  t.is(targets.length, 2);
  await agents.stop();
});

test('a target carries the highest memory peak of containers of that size', async (t) => {
  const { hook, targets, start } = stage();
  const agents = start('agents-1');
  await settle();
  const cpu = 500 as Millicores;
  const size = (mebi: number) => ({
    cpu: 1000 as Millicores,
    memory: mebibytes(mebi),
    shares: 256,
  });
  send(hook, 1, '/guest/hello', { host: 'invoker-1', peak: { cpu, memory: mebibytes(90) } });
  send(hook, 1, '/guest/hello', { host: 'invoker-2', peak: { cpu, memory: mebibytes(60) } });
  // A newer version with another limit, which the other hosts do not run yet.
  send(hook, 1, '/guest/hello', {
    host: 'invoker-3',
    user: size(512),
    peak: { cpu, memory: mebibytes(400) },
  });
  send(hook, 2, '/guest/hello', { host: 'invoker-2', peak: { cpu, memory: mebibytes(50) } });
  await settle();
  t.deepEqual(
    targets.map(({ peak }) => peak),
    [
      { userMemory: mebibytes(256), memory: mebibytes(90) },
      { userMemory: mebibytes(256), memory: mebibytes(90) },
      { userMemory: mebibytes(512), memory: mebibytes(400) },
      { userMemory: mebibytes(256), memory: mebibytes(90) },
    ],
  );
  await agents.stop();
});

test('no more agents than configured are resident', async (t) => {
  const { hook, start } = stage();
  const agents = start('agents-1', { resident: 3 });
  await settle();
  for (let i = 0; i < 10; i++) send(hook, 1, `/guest/f${i}`);
  await settle();
  t.is(agents.agents, 3);
  await agents.stop();
});

test('partial sums of the active agents are published each interval', async (t) => {
  const { hook, start, pass } = stage();
  const members: number[] = [];
  const allocated: number[] = [];
  hook.subscribe(wildcards.agentsPartials, (message) => {
    const decoded = decodeAgentsPartial(message.data);
    if (!decoded.ok) throw new Error(decoded.detail);
    members.push(decoded.message.sums.members);
    allocated.push(decoded.message.sums.allocated.cpu);
  });
  const agents = start('agents-1');
  await settle();
  send(hook, 1);
  send(hook, 1, '/guest/hello', { host: 'invoker-2' });
  send(hook, 1, '/guest/other');
  await pass(1000);
  t.deepEqual(members, [2]);
  // `hello` on two hosts and `other` on one, each with 2 containers of 1000 millicores.
  t.is(allocated[0], 6000);
  await pass(3000);
  t.is(members.at(-1), 0);
  await agents.stop();
});

test('one of two agent hosts decides for a function, its successor by a new epoch', async (t) => {
  const { bus, time, hook, targets, start, pass } = stage();
  const aggregator = runAggregator({
    broker: bus.connect(),
    clock: time,
    timers: time,
    intervalMs: 1000,
    host: 'agg',
  });
  const one = start('agents-1');
  await settle();
  const two = start('agents-2');
  await pass(6000);
  t.deepEqual([one.ownedShards, two.ownedShards], [SHARDS / 2, SHARDS / 2]);
  for (let i = 0; i < 40; i++) send(hook, 1, `/guest/f${i}`);
  await settle();
  t.is(targets.length, 40);
  t.is(new Set(targets.map((target) => target.function)).size, 40);
  t.is(new Set(targets.map((target) => target.author.host)).size, 2);
  t.is(one.counts.elsewhere + two.counts.elsewhere, 40);
  const before = new Map(targets.map((target) => [target.function, target]));
  await two.stop();
  await pass(6000);
  t.is(one.ownedShards, SHARDS);
  targets.length = 0;
  for (let i = 0; i < 40; i++) send(hook, 2, `/guest/f${i}`, { observedAt: time.monotonic() });
  await settle();
  t.is(targets.length, 40);
  for (const target of targets) {
    const earlier = before.get(target.function)!;
    if (earlier.author.host === 'agents-2') t.true(target.epoch > earlier.epoch);
    else t.is(target.epoch, earlier.epoch);
  }
  await one.stop();
  await aggregator.stop();
});

test('an agent host that cannot renew its leases sends no targets', async (t) => {
  const { bus, time, hook, targets, start, pass } = stage();
  const agents = start('agents-1');
  await settle();
  send(hook, 1, '/guest/hello', { observedAt: time.monotonic() });
  await settle();
  t.is(targets.length, 1);
  bus.takeDown();
  await pass(7000);
  t.is(agents.ownedShards, 0);
  bus.bringUp();
  await pass(2500);
  send(hook, 2, '/guest/hello', { observedAt: time.monotonic() });
  await settle();
  t.is(targets.length, 2);
  await agents.stop();
});
