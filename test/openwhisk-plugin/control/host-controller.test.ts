import test from 'ava';
import type { Millis } from '../../../config/index.js';
import { type Bytes, MIB } from '../../../config/index.js';
import { closeStep } from '../../../openwhisk-plugin/control/observation.js';
import { HostWeights } from '../../../openwhisk-plugin/decision/index.js';
import { decider, host, limits } from '../decision/helpers.js';
import { type FakeContainer, FakeHost } from './fake-host.js';

test('a request writes weight and quota, an answer restores the quota and then reports', (t) => {
  const fake = new FakeHost(decider());
  const container = fake.container(limits(256, 2));
  fake.whole(container, 0.3);
  fake.taken();
  const activation = fake.request(container);
  // Peak .3 + unit .1 cores of 2. Alone on its host a function is a fifth of the reference.
  t.deepEqual(fake.taken(), ['shares 640 policy chosen', 'quota 400 policy chosen']);
  t.is(fake.record.running, 1);
  fake.pass(container, 100, 0.3);
  fake.answer(activation);
  t.deepEqual(fake.taken(), ['quota 2000 restore answer', 'ended success']);
  t.deepEqual([fake.record.running, container.limited], [0, false]);
});

test('a first activation runs at the limits of its user', (t) => {
  const fake = new FakeHost(decider());
  const container = fake.container(limits(256, 2));
  fake.request(container);
  t.is(container.quota, 2000);
});

test('user limits apply to a late request, without a trusted tap and without mode enforce', (t) => {
  for (const why of ['late', 'tap', 'mode']) {
    const fake = new FakeHost(decider());
    const container = fake.container(limits(256, 2));
    fake.whole(container, 0.3);
    fake.taken();
    if (why === 'tap') container.tapped = false;
    if (why === 'mode') {
      fake.record.enforced = false;
      fake.record.mode = 'recommend';
    }
    const activation = fake.request(container, why === 'late');
    const written = { late: ['shares 128 policy late'], tap: [], mode: ['recommend'] }[why];
    t.deepEqual(fake.taken(), written, why);
    t.deepEqual([container.shares, container.quota], [128, 2000]);
    t.is(activation.run.cpu.granted, 400);
  }
});

test('the rest of an activation whose user limits changed is no second start', (t) => {
  const fake = new FakeHost(decider());
  const container = fake.container(limits(256, 2));
  fake.whole(container, 0.3);
  fake.pass(container, 100, 0);
  const { state } = fake.request(container).revision;
  const { started, lastStart } = state;
  const updated = fake.container({ ...limits(256, 2), shares: 512 });
  fake.pass(container, 100, 0.3);
  updated.limitsChanged = true;
  t.is(fake.request(updated).revision.state, state);
  t.deepEqual([state.started, state.lastStart], [started, lastStart]);
  updated.limitsChanged = false;
  fake.request(updated);
  t.is(state.started, started + 1);
});

/** Beside `container`, something runs with four times its own weight. */
function besideRaised(): [FakeHost, FakeContainer] {
  const fake = new FakeHost(decider());
  const raised = fake.container(limits(256, 2));
  fake.request(raised);
  raised.state.shares = 512;
  fake.controller.decider.weights.update(raised.state);
  return [fake, fake.container(limits(256, 2))];
}

test('a late start waits for raised weights no longer than without Gleaner', (t) => {
  // Own weights 128 and 128: half of the CPU each, so with 512 against it also 512.
  for (const before of ['own weight', 'boosted', 'raised', 'lowered']) {
    const [fake, container] = besideRaised();
    if (before === 'boosted') fake.controller.beginBoost(container, fake.now);
    else fake.answer(fake.request(container));
    if (before === 'raised') container.state.shares = 2048;
    if (before === 'lowered') container.state.shares = 16;
    const late = fake.request(container, true);
    t.deepEqual([container.shares, container.quota], [512, 2000], before);
    t.is(late.run.shares, 512, 'explained as it is in force');
    // Weights that change for all change for it too.
    fake.controller.containerStarted(fake.container(limits(256, 2, 2)));
    fake.request(fake.container(limits(256, 2, 2)));
    t.is(container.shares, 512 * 16);
    fake.record.enforced = false;
    fake.controller.onModeChanged([container], true, 'mode', fake.now);
    t.is(container.shares, 128);
  }
});

test('a late start writes no weight if the function is not enforced or not seen', (t) => {
  for (const why of ['tap', 'mode']) {
    const [fake, container] = besideRaised();
    if (why === 'tap') container.tapped = false;
    fake.controller.identify(container, '/guest/f', '0.0.1', fake.now);
    if (why === 'mode') fake.record.enforced = false;
    fake.taken();
    fake.request(container, true);
    t.deepEqual(fake.taken(), [], why);
    t.is(container.shares, 128);
  }
});

test('a late start of an action that was made smaller is lent its memory', (t) => {
  const fake = new FakeHost(decider());
  fake.controller.decider.headroom.update(0 as Bytes, 0 as Bytes);
  const container = fake.container(limits(128));
  fake.controller.identify(container, '/guest/f', '0.0.1', fake.now)!.state.rightSizeFactor = 2;
  fake.whole(container, 0.3);
  t.is(container.memory, 128 * MIB);
  const late = fake.request(container, true);
  t.is(container.memory, 256 * MIB);
  fake.pass(container, 100, 0.3);
  fake.answer(late);
  t.is(container.memory, 128 * MIB);
});

test('a request that cannot be read waits no longer than without Gleaner', (t) => {
  const [fake, container] = besideRaised();
  fake.answer(fake.request(container));
  container.state.shares = 16;
  container.shares = 16;
  fake.controller.onUnreadRequest(container, fake.now);
  t.deepEqual([container.shares, container.state.shares, container.quota], [512, 512, 2000]);
  fake.record.enforced = false;
  fake.taken();
  fake.controller.onModeChanged([container], true, 'mode', fake.now);
  t.deepEqual(fake.taken(), ['user limits 0 mode mode']);
  fake.controller.onUnreadRequest(container, fake.now);
  t.deepEqual(fake.taken(), [], 'modes observe and recommend');
});

test('beside a request of no known function weights are not raised for all', (t) => {
  const fake = new FakeHost(decider());
  const { decider: rules } = fake.controller;
  const running = fake.container(limits(256, 0, 2));
  fake.request(running);
  t.deepEqual([rules.shares.commonWeight, rules.weights.highest], [16, 4096]);
  const unknown = fake.container(limits(256, 0, 2));
  fake.taken();
  fake.controller.onUnreadRequest(unknown, fake.now);
  t.is(unknown.shares, 2);
  t.deepEqual([rules.shares.commonWeight, rules.weights.highest], [1, 16]);
  t.is(running.shares, 2);
  // The next request names the function.
  fake.request(unknown);
  t.deepEqual([rules.shares.commonWeight, rules.weights.highest], [16, 4096]);
});

test('beside a container whose interface is not tapped no weight is raised far', (t) => {
  const fake = new FakeHost(decider());
  const { decider: rules } = fake.controller;
  const user = limits(256, 0, 2);
  const seen = fake.container(user);
  fake.request(seen);
  t.deepEqual([rules.shares.commonWeight, rules.weights.highest], [16, 4096]);
  // It has its user's weight, and may run any function without being seen.
  const unseen = fake.container(user, '/guest/f', false);
  t.deepEqual([rules.shares.commonWeight, rules.weights.highest, seen.shares], [1, 16, 2]);
  unseen.tapped = true;
  fake.controller.weights.scale();
  t.deepEqual([rules.shares.commonWeight, rules.weights.highest], [16, 4096]);
  fake.controller.onTapLost([unseen], 'tap_lost', fake.now);
  t.deepEqual([rules.shares.commonWeight, rules.weights.highest], [1, 16]);
  fake.controller.containerEnded(unseen);
  t.deepEqual([rules.shares.commonWeight, rules.weights.highest], [16, 4096]);
});

test('an activation that is not enforced reverts limits that another lowered', (t) => {
  const fake = new FakeHost(decider());
  const container = fake.container(limits(256, 2));
  fake.whole(container, 0.3);
  fake.request(container);
  t.is(container.quota, 400);
  fake.request(container, true);
  t.is(container.quota, 2000);
});

test('a spike restores the quota at once; without enforcement nothing is written', (t) => {
  const fake = new FakeHost(decider());
  const container = fake.container(limits(256, 2));
  fake.whole(container, 0.3);
  const activation = fake.request(container);
  fake.taken();
  fake.pass(container, 100, 0.35);
  t.true(fake.controller.onSample(activation, container.sample, fake.now));
  t.deepEqual(fake.taken(), ['safeguarded restore_cpu', 'quota 2000 safeguard mid_run']);

  const second = fake.request(container, true);
  fake.pass(container, 100, 2);
  t.false(fake.controller.onSample(second, container.sample, fake.now));
});

test('a loan that its lender needs back is written to the borrower', (t) => {
  const fake = new FakeHost(decider({}, host(2), 'largest-in-range'));
  const lender = fake.container(limits(256, 1.5));
  const borrower = fake.container(limits(128, 0.5));
  fake.whole(borrower, 0.5);
  fake.request(borrower);
  const before = borrower.quota;
  t.true(before > 500);
  fake.taken();
  fake.request(lender);
  t.true(borrower.quota < before);
  t.true(fake.taken().includes('revoked'));
  t.true(lender.quota + borrower.quota <= 2000);
});

test('a refused quota leaves the user’s, for the pool as well', (t) => {
  const fake = new FakeHost(decider());
  const container = fake.container(limits(256, 2));
  fake.whole(container, 0.3);
  fake.quotaResult = 'refused';
  const activation = fake.request(container);
  t.is(activation.run.cpu.granted, 2000);
  t.is(container.state.cpu.granted, 2000);
});

test('a quota that is not in force after the write is followed by the user’s', (t) => {
  const fake = new FakeHost(decider());
  const container = fake.container(limits(256, 2));
  fake.whole(container, 0.3);
  fake.quotaResult = 'not_effective';
  fake.taken();
  fake.request(container);
  t.deepEqual(fake.taken().slice(1), [
    'quota 400 policy chosen',
    'quota 2000 policy not_effective',
  ]);
});

test('a container that may not be limited suspends the common factor until it ends', (t) => {
  const fake = new FakeHost(decider());
  const { decider: rules } = fake.controller;
  const start = () => fake.container(limits(256, 0, 2));
  fake.request(start());
  // A sixteenth of 2 shares, the kernel's least, can be expressed from 32 shares on.
  t.is(rules.shares.commonWeight, 16);
  const unseen = start();
  unseen.tapped = false;
  const running = fake.request(unseen);
  t.is(rules.shares.commonWeight, 1);
  fake.request(start());
  t.is(rules.shares.commonWeight, 1);
  fake.answer(running);
  fake.controller.containerEnded(unseen);
  t.is(rules.shares.commonWeight, 16);
});

test('a container serves one function: a second name is not believed', (t) => {
  const fake = new FakeHost(decider());
  const container = fake.container(limits());
  const { controller, now } = fake;
  t.not(controller.identify(container, '/guest/f', '0.0.1', now), null);
  t.is(controller.identify(container, '/guest/g', '0.0.1', now), null);
  t.is(controller.identify(container, '/guest/f', '0.0.2', now), null);
  t.is(fake.record.containers, 1);
});

test('the kernel’s counter and the engine’s event of one OOM kill count once', (t) => {
  const fake = new FakeHost(decider());
  const container = fake.container(limits(256, 2));
  const activation = fake.request(container);
  fake.taken();
  container.sample.oomKills = 1;
  fake.answer(activation);
  fake.controller.onOomEvent(container, fake.now);
  t.deepEqual(fake.taken().slice(1), ['OOM kill at 256', 'ended oom']);
  t.is(fake.record.step.oomKills, 1);
  fake.controller.onOomEvent(container, fake.now);
  t.is(fake.record.step.oomKills, 2);
});

test('an OOM kill below the user’s limit is caused by Gleaner', (t) => {
  const fake = new FakeHost(decider());
  const container = fake.container(limits(256, 2));
  fake.request(container);
  container.memory = 200 * MIB;
  fake.taken();
  fake.controller.onOomEvent(container, fake.now);
  t.deepEqual(fake.taken(), ['OOM kill at 200 by a lowered limit']);
  t.is(container.revision?.state.oomHarvest, 1);
});

test('after a tap loss all containers are at user limits, and none borrows', (t) => {
  const fake = new FakeHost(decider({}, host(2), 'largest-in-range'));
  const containers = [fake.container(limits(256, 1)), fake.container(limits(256, 1))];
  for (const container of containers) fake.whole(container, 1);
  for (const container of containers) fake.request(container);
  t.true(containers.some((each) => each.quota !== 1000 || each.limited));
  fake.taken();
  t.is(fake.controller.onTapLost(containers, 'tap_lost', fake.now), 2);
  t.deepEqual(fake.taken(), ['user limits 0 restore tap_lost', 'user limits 0 restore tap_lost']);
  for (const container of containers) t.is(container.quota, 1000);
});

test('an activation whose limits were restored is not used for learning', (t) => {
  const fake = new FakeHost(decider());
  const container = fake.container(limits(256, 2));
  const activation = fake.request(container);
  fake.controller.restore(container, 'kill_switch', 'file', fake.now);
  fake.pass(container, 1000, 0.3);
  fake.answer(activation);
  t.is(container.revision?.state.clean, 0);
});

test('a cold start is boosted once and until its end; a known container is not', (t) => {
  const fake = new FakeHost(decider());
  const container = fake.container(limits(256, 2));
  fake.controller.beginBoost(container, fake.now);
  fake.controller.beginBoost(container, fake.now);
  t.deepEqual(fake.taken(), [
    'boosted',
    'shares 262144 boost cold_start', // 4096 x 128, but no more than the kernel takes
    'quota 8000 boost cold_start',
  ]);
  fake.controller.endBoost(container, 'init_answered');
  fake.controller.endBoost(container, 'init_answered');
  t.deepEqual(fake.taken(), ['shares 128 boost init_answered', 'quota 2000 boost init_answered']);
  const known = fake.container(limits(256, 2));
  fake.controller.identify(known, '/guest/f', '0.0.1', fake.now);
  fake.controller.beginBoost(known, fake.now);
  t.deepEqual(fake.taken(), []);
});

test('an init longer than the boost gets the typical weight of what runs until its answer', (t) => {
  const fake = new FakeHost(decider());
  const starting = fake.container(limits(256, 2));
  fake.controller.beginBoost(starting, fake.now);
  const running = fake.container(limits(256, 2));
  const activation = fake.request(running);
  // As if the policy had given it 8 times its weight: beside it the own weight would wait.
  activation.run.container.shares = 8 * 128;
  fake.controller.decider.weights.update(running.state);
  fake.taken();
  fake.controller.boostExpired(starting, fake.now);
  t.deepEqual(fake.taken(), ['shares 1024 boost too_long', 'quota 2000 boost too_long']);
  fake.answer(activation);
  fake.taken();
  // Nothing runs any more.
  fake.controller.boostExpired(starting, fake.now);
  t.is(starting.shares, 128);
  fake.controller.endBoost(starting, 'init_answered');
  fake.controller.boostExpired(starting, fake.now);
  t.is(starting.shares, 128);
});

test('a boost ends at the first request, and its limits go even if nothing is enforced', (t) => {
  const fake = new FakeHost(decider());
  const container = fake.container(limits(256, 2));
  fake.controller.beginBoost(container, fake.now);
  fake.taken();
  fake.request(container, true);
  t.deepEqual(fake.taken(), [
    'shares 128 boost ended',
    'quota 2000 boost ended',
    'shares 128 policy late',
  ]);
});

test('a function that reached its memory limit gets a loan with the next request', (t) => {
  const fake = new FakeHost(decider());
  fake.controller.decider.headroom.update(0 as Bytes, 0 as Bytes);
  const container = fake.container(limits(256, 2));
  fake.whole(container, 0.3);
  container.revision!.state.hitUserLimit = true;
  fake.taken();
  fake.request(container);
  // An OOM kill at 256 MiB would ask for the larger of 20 % and 100 MiB more.
  t.deepEqual(
    fake.taken().filter((line) => line.startsWith('lent') || line.startsWith('memory')),
    ['lent 100', 'memory 356 loan hit_user_limit'],
  );
});

test('status and end decide what an activation is: success, failure or unknown', (t) => {
  for (const [reason, status, outcome] of [
    ['answer', 200, 'success'],
    ['answer', 502, 'failure'],
    ['answer', 199, 'failure'],
    ['answer', 300, 'failure'],
    ['reset', 0, 'failure'],
    ['closed', 0, 'failure'],
    ['container_end', 0, 'failure'],
    ['deadline', 0, 'unknown'],
    ['next_head', 0, 'unknown'],
    ['stopped', 0, 'unknown'],
  ] as const) {
    const fake = new FakeHost(decider());
    const activation = fake.request(fake.container(limits(256, 2)));
    activation.reason = reason;
    fake.taken();
    fake.answer(activation, status);
    t.is(fake.taken().at(-1), `ended ${outcome}`, `${reason} ${status}`);
  }
});

test('an ended container frees its share, and is written no more', (t) => {
  const fake = new FakeHost(decider({}, host(2), 'largest-in-range'));
  const container = fake.container(limits(256, 1));
  fake.whole(container, 1);
  const activation = fake.request(container);
  container.ended = true;
  activation.reason = 'container_end';
  fake.taken();
  fake.answer(activation, 0);
  fake.controller.containerEnded(container);
  t.deepEqual(fake.taken(), ['ended failure']);
  t.is(fake.controller.decider.cpuPool.granted, 0);
});

test('a mode change restores containers that are no longer enforced, and only those', (t) => {
  const fake = new FakeHost(decider());
  const boosted = fake.container(limits(256, 2));
  fake.controller.beginBoost(boosted, fake.now);
  const container = fake.container(limits(256, 2));
  fake.whole(container, 0.3);
  fake.request(container);
  fake.taken();
  const containers = [boosted, container];
  fake.controller.onModeChanged(containers, true, 'kv', fake.now);
  t.deepEqual(fake.taken(), []);
  fake.record.enforced = false;
  fake.controller.onModeChanged(containers, true, 'kv', fake.now);
  // Beside a container with its own weight a boost is 16 times the weight of 128, no longer 2048.
  t.deepEqual(fake.taken(), ['user limits 0 mode kv', 'shares 2048 policy common_factor']);
  t.deepEqual([container.quota, boosted.quota], [2000, 8000]);
  fake.controller.onModeChanged(containers, false, 'kill_switch', fake.now);
  t.deepEqual(fake.taken(), ['user limits 0 mode kill_switch']);
  t.is(boosted.quota, 2000);
});

test('waiting and throttling are counted between two readings that have them', (t) => {
  const fake = new FakeHost(decider());
  const container = fake.container(limits(256, 2));
  const { step } = fake.record;
  const read = (waiting: number, periods = 0, throttledPeriods = 0): void => {
    const sample = { ...container.sample, waiting, periods, throttledPeriods };
    t.false(fake.controller.observe(container, sample, fake.record, fake.now));
  };
  read(-1);
  t.false(step.waits);
  read(5000);
  t.deepEqual([step.waits, step.waited], [true, 0], 'the first has nothing before it');
  read(9000, 10, 4);
  read(2000, 3, 1);
  t.is(step.waited, 4, 'counters that start again are no waiting');
  t.deepEqual([step.periods, step.throttledPeriods], [10, 4]);
  read(0, 3, 1);
  read(1000, 5, 2);
  t.deepEqual([step.waited, step.periods, step.throttledPeriods], [5, 12, 5]);
});

test('a lost tap restores what is boosted, limited or changed, and counts it', (t) => {
  const fake = new FakeHost(decider());
  const [idle, boosted, limited, changed] = [1, 2, 3, 4].map(() => fake.container(limits(256, 2)));
  boosted!.boosted = true;
  limited!.limited = true;
  changed!.quota = 100;
  fake.taken();
  t.is(fake.controller.onTapLost([idle!, boosted!, limited!, changed!], 'lost', fake.now), 3);
  t.deepEqual([idle!.tapped, boosted!.boosted, limited!.limited], [false, false, false]);
  t.deepEqual(fake.taken(), new Array(3).fill('user limits 0 restore lost'));
  t.is(changed!.quota, 2000);
});

test('memory that was lowered returns with the quota, and else only under `faasrm`', (t) => {
  for (const [memoryPolicy, lowered, written] of [
    ['guarantee', false, false],
    ['guarantee', true, true],
    ['faasrm', false, true],
  ] as const) {
    const fake = new FakeHost(decider());
    const container = fake.container(limits(256, 2));
    fake.whole(container, 0.3);
    const activation = fake.request(container);
    activation.revision.state.memoryPolicy = memoryPolicy;
    container.desiredMemory = (lowered ? 100 : 300) * MIB;
    fake.taken();
    fake.answer(activation);
    const memory = fake.taken().filter((line) => line.startsWith('memory'));
    t.deepEqual(memory, written ? ['memory 256 restore answer'] : []);
  }
});

test('a refused reduction of memory is refused for all that run in the container', (t) => {
  const fake = new FakeHost(decider({ memoryPolicy: 'faasrm' }));
  const container = fake.container(limits(256, 2));
  fake.whole(container, 0.3);
  fake.pass(container, 10, 0);
  const activations = [fake.request(container), fake.request(container)];
  t.true(activations.every(({ run }) => run.memory.reduced));
  fake.refuseMemory(container, fake.now);
  for (const { run } of activations)
    t.deepEqual([run.memory.granted / MIB, run.memory.choice], [256, 'restored']);
});

test('mean use is known only from two counters and a duration', (t) => {
  const used = (startCpu: number, cpu: number, ms = 100): number => {
    const fake = new FakeHost(decider());
    const container = fake.container(limits(256, 2));
    const activation = fake.request(container);
    activation.run.startCpu = startCpu as typeof activation.run.startCpu;
    fake.now = (fake.now + ms) as typeof fake.now;
    Object.assign(container.sample, { cpu, workingSet: MIB, at: fake.now });
    fake.answer(activation);
    return fake.record.step.usedCpu;
  };
  t.is(used(0, 50_000), 500);
  t.is(used(20_000, 70_000), 500);
  for (const [start, end, ms] of [
    [-1, 50_000, 100],
    [50_000, 20_000, 100],
    [0, 50_000, 0],
  ] as const)
    t.is(used(start, end, ms), 0);
});

test('a function runs concurrently once one is answered after another started beside it', (t) => {
  const fake = new FakeHost(decider());
  const container = fake.container(limits(256, 2));
  const first = fake.request(container);
  const second = fake.request(container);
  const { state } = first.revision;
  t.is(state.concurrency, 1);
  fake.answer(second);
  t.is(state.concurrency, 1, 'the first one may have ended unseen');
  fake.answer(first);
  t.is(state.concurrency, 2);
});

test('the concurrency is that of one container, also if idle and beside other sizes', (t) => {
  const fake = new FakeHost(decider());
  const user = limits(256, 2);
  const observed = (): number | undefined => {
    fake.whole(container, 0.3);
    return closeStep(fake.record, { host: 'h', boot: 'b' }, fake.controller.decider, fake.now)
      ?.concurrency;
  };
  const container = fake.container(user);
  const together = Array.from({ length: 3 }, () => fake.request(container));
  for (const activation of together) fake.answer(activation);
  t.is(observed(), 3);
  const five = Array.from({ length: 5 }, () => fake.container(user));
  const busy = five.flatMap((one) => [fake.request(one), fake.request(one)]);
  t.is(observed(), 3);
  for (const activation of busy) fake.answer(activation);
  t.is(observed(), 3);
  // Containers of the size before a change may still start beside those of the new one.
  for (const size of [512, 256]) fake.answer(fake.request(fake.container(limits(size, 2))));
  t.is(observed(), 3);
});

test('a small container raises the weights of all that run', (t) => {
  const fake = new FakeHost(decider({ referenceCpuTime: 300 as Millis }));
  const first = fake.container(limits(256, 0, 32));
  fake.whole(first, 0.3); // 300 CPU-ms: factor 1
  fake.request(first);
  t.is(first.shares, 32);
  // 2 shares need 16 times as much for a sixteenth; 32 x 16 x 16 is within the kernel's range.
  const second = fake.container(limits(256, 0, 2));
  fake.request(second);
  t.is(first.shares, 32 * 16);
  t.is(second.shares, 2 * 16);
});

test('while a function is not enforced no weight is raised; afterwards all are again', (t) => {
  const fake = new FakeHost(decider({ referenceCpuTime: 300 as Millis }));
  const [one, other] = [fake.container(limits(256, 0, 2)), fake.container(limits(256, 0, 2))];
  fake.whole(other, 0.3);
  fake.request(one);
  t.is(one.shares, 32);
  other.tapped = false;
  fake.controller.onTapLost([other], 'tap_lost', fake.now);
  t.is(one.shares, 2);
  other.tapped = true;
  fake.controller.weights.onSiblings(Number.POSITIVE_INFINITY);
  fake.request(other);
  t.deepEqual([one.shares, other.shares], [32, 32]);
});

test('beside a container that is not managed none keeps more than 16 times its weight', (t) => {
  const fake = new FakeHost(decider({}, host(), 'smallest-in-range', 'deadline-first'));
  const user = limits(256, 0, 32);
  const [booting, late, unmanaged] = [0, 1, 2].map(() => fake.container(user));
  // Two activations at once, and one that was late: no policy revises their weights.
  const [shared, single] = [fake.container(user), fake.container(user)];
  fake.request(shared);
  fake.request(shared);
  fake.request(single);
  fake.controller.beginBoost(booting!, fake.now);
  fake.request(late!, true);
  for (const { state } of [shared, single, late!]) state.shares = 4096 * 32;
  fake.taken();
  fake.controller.identify(unmanaged!, '/guest/observed', '0.0.1', fake.now);
  fake.records.get('/guest/observed')!.enforced = false;
  fake.controller.onModeChanged([unmanaged!], true, 'mode', fake.now);
  const written = fake.taken();
  t.deepEqual(written, Array(4).fill('shares 512 policy common_factor'));
  for (const { state } of [shared, single, late!, booting!]) {
    t.is(state.shares, 16 * 32);
    for (const run of state.runs) t.is(run.shares, 16 * 32);
  }
  fake.controller.onModeChanged([], true, 'mode', fake.now);
  t.deepEqual(fake.taken(), [], 'only once');
});

test('a request that cannot be read follows the range and the common factor', (t) => {
  const fake = new FakeHost(decider());
  const user = limits(256, 0, 32);
  const [raised, unread, unmanaged] = [0, 1, 2].map(() => fake.container(user));
  fake.request(raised!);
  raised!.state.shares = 4096 * 32;
  fake.controller.decider.weights.update(raised!.state);
  fake.controller.identify(unread!, '/guest/f', '0.0.1', fake.now);
  fake.controller.onUnreadRequest(unread!, fake.now);
  t.is(unread!.shares, 4096 * 32, 'as what runs');
  fake.taken();
  fake.controller.onUnreadRequest(unread!, fake.now);
  t.deepEqual(fake.taken(), ['shares 131072 safeguard unknown_request'], 'no restore before it');
  fake.controller.identify(unmanaged!, '/guest/observed', '0.0.1', fake.now);
  fake.records.get('/guest/observed')!.enforced = false;
  fake.controller.onModeChanged([unmanaged!], true, 'mode', fake.now);
  t.is(unread!.shares, raised!.shares);
  t.true(unread!.shares <= 16 * 32);
});

test('a container that works after its last answer loses a raised weight', (t) => {
  const fake = new FakeHost(decider());
  const container = fake.container(limits(256));
  const { controller } = fake;
  const worked = (): string[] => {
    container.state.shares = 1024;
    fake.taken();
    controller.onLateWork(container);
    return fake.taken();
  };
  const activation = fake.request(container);
  t.deepEqual(worked(), [], 'it works for what runs in it');
  fake.answer(activation);
  // Nothing runs on the host, so that its own weight is neutral.
  t.deepEqual(worked(), ['shares 128 policy works_after_answer']);
  fake.record.enforced = false;
  t.deepEqual(worked(), []);
});

test('a late activation follows the weights of what starts beside it', (t) => {
  const fake = new FakeHost(decider());
  const [container, other] = [fake.container(limits(256, 2)), fake.container(limits(256, 2))];
  const late = fake.request(container, true);
  t.is(container.shares, 128);
  fake.request(other);
  other.state.shares = 1024;
  fake.controller.decider.weights.update(other.state);
  // The mean of both, again and again: (1024 + 128) / 2, (1024 + 576) / 2, ... up to 1024.
  fake.controller.revise(late, 10, fake.now);
  t.is(container.shares, 576);
  fake.controller.revise(late, 20, fake.now);
  t.is(container.shares, 800);
});

test('when a large pod ends, the weights that it allowed to others are lowered', (t) => {
  for (const isGone of [false, true]) {
    const weights = new HostWeights(0.05);
    const fake = new FakeHost(decider({}, host(), 'smallest-in-range', 'short-first', weights));
    // A pod of 102 shares is left over beside one of 2000, and may lose 5 %.
    fake.controller.weights.onSiblings(102 / 2000);
    const [large, small] = [2000, 2].map((own) => fake.container(limits(256, 0, own)));
    const first = fake.request(large!);
    fake.request(small!);
    small!.state.shares = 107;
    weights.update(small!.state);
    small!.ended = isGone;
    fake.taken();
    fake.answer(first);
    const written = fake.taken().filter((line) => line.startsWith('shares'));
    // .05 x (102 / 1000 + 2) above its own 2 is no whole share.
    t.deepEqual(written, isGone ? [] : ['shares 2 policy revised']);
  }
});

test('a sibling that is not managed bounds the factor: none stands above it', (t) => {
  const fake = new FakeHost(decider({ referenceCpuTime: 300 as Millis }));
  const container = fake.container(limits(256, 0, 2));
  // At most 4 times its own weight for the shortest, which has 16 times the factor.
  fake.controller.weights.onSiblings(64);
  fake.request(container);
  t.is(container.shares, 8);
  fake.controller.weights.onSiblings(Number.POSITIVE_INFINITY);
  t.is(container.shares, 32);
});
