import test from 'ava';
import { MIB, type Millicores, type Millis } from '../../../config/index.js';
import { HarvestPool } from '../../../openwhisk-plugin/decision/harvest-pool.js';
import { HostGrants, settle } from '../../../openwhisk-plugin/decision/host-grants.js';
import { ContainerState, FunctionState, Run } from '../../../openwhisk-plugin/decision/index.js';
import { decider, host, limits, Player } from './helpers.js';

/** One host's pools, and containers of 256 MiB with one core under policy `faasrm`. */
function scene(cores = 4, memory = 1024) {
  const cpu = new HarvestPool<ContainerState>(cores * 1000, 0);
  const memoryPool = new HarvestPool<ContainerState>(memory * MIB, 0);
  const grants = new HostGrants(cpu, memoryPool);
  const container = (quota = 1): ContainerState => {
    const one = new ContainerState(limits(256, quota), host());
    memoryPool.begin(one.memory, one.user.memory, one.user.memory, Number.POSITIVE_INFINITY);
    return one;
  };
  const run = (in_: ContainerState, policy: 'faasrm' | 'guarantee' = 'faasrm'): Run => {
    const one = new Run(new FunctionState('/g/f', '1', in_.user, policy, 1), in_);
    in_.runs.push(one);
    return one;
  };
  return { cpu, memoryPool, grants, container, run };
}

test('a run that is only watched shows what it would get, and its container keeps its own', (t) => {
  const { cpu, grants, container, run } = scene(3);
  const [one, two] = [container(), container()];
  cpu.begin(two.cpu, 1000, 1000, 100);
  for (const [asked, shown] of [
    [500, 500],
    [1000, 1000],
    [1600, 1600],
    [5000, 2000], // one core of its own, one free
  ] as const) {
    const watched = run(one);
    watched.enforced = false;
    watched.cpu.granted = asked;
    grants.takeCpu(watched, false, 100, 0.1);
    t.is(watched.cpu.granted, shown);
    t.is(one.cpu.granted, 1000);
    one.runs.pop();
  }
});

test('a watched run that joins a lowered container restores its user limit', (t) => {
  const { cpu, grants, container, run } = scene();
  const one = container();
  const first = run(one);
  first.cpu.granted = 400;
  grants.takeCpu(first, false, 100, 0.1);
  t.is(one.cpu.granted, 400);
  const watched = run(one);
  watched.enforced = false;
  grants.takeCpu(watched, true, 200, 0.1);
  t.deepEqual([one.cpu.granted, first.cpu.choice], [1000, 'restored']);
  t.is(first.quota, 1000 as Millicores);
  // A container at its user limit is left as it is.
  first.cpu.choice = 'user';
  grants.takeCpu(watched, true, 300, 0.1);
  t.is(first.cpu.choice, 'user');
  t.is(cpu.granted, 1000);
});

test('a run that joins lowers CPU by one step, unless another needs the user limit', (t) => {
  const joined = (state: object, cpu: object = {}): readonly [number, string] => {
    const { grants, container, run } = scene();
    const one = container();
    const first = run(one);
    Object.assign(first.cpu, { lower: 300, upper: 1000, granted: 800 });
    grants.takeCpu(first, false, 100, 0.1);
    Object.assign(first, state);
    Object.assign(first.cpu, cpu);
    const second = run(one);
    Object.assign(second.cpu, { lower: 300, upper: 1000, granted: 300 });
    grants.takeCpu(second, true, 100, 0.1);
    t.is(first.cpu.granted, second.cpu.granted, 'the limit is the container’s');
    return [second.cpu.granted, second.cpu.choice];
  };
  // 800 less a tenth of the user's 1000.
  t.deepEqual(joined({}), [700, 'step']);
  t.deepEqual(joined({ enforced: false }), [1000, 'step']);
  t.deepEqual(joined({ trippedCpu: true }), [1000, 'step']);
  t.deepEqual(joined({}, { lower: 1000 }), [1000, 'step'], 'its range is the user limit');
  t.deepEqual(joined({}, { lower: 1000, upper: 2000 }), [700, 'step']);
});

test('with several activations memory only rises, to the user limit at most', (t) => {
  const { memoryPool, grants, container, run } = scene();
  const one = container();
  const first = run(one);
  first.memory.granted = 100 * MIB;
  grants.takeMemory(first, false, 100);
  t.is(one.memory.granted, 100 * MIB);
  const join = (granted: number): readonly [number, string] => {
    const next = run(one);
    next.memory.granted = granted * MIB;
    grants.takeMemory(next, true, 100);
    t.is(first.memory.granted, one.memory.granted);
    return [next.memory.granted / MIB, next.memory.choice];
  };
  t.deepEqual(join(50), [100, 'user'], 'never lower');
  t.deepEqual(join(150), [150, 'user']);
  t.deepEqual(join(400), [256, 'step'], 'nothing is borrowed');
  t.is(memoryPool.granted, 256 * MIB);
});

test('memory that the pool does not have is not granted', (t) => {
  const { grants, container, run } = scene(4, 300);
  const one = container();
  const alone = run(one);
  alone.memory.granted = 400 * MIB;
  grants.takeMemory(alone, false, 100);
  t.deepEqual([alone.memory.granted / MIB, alone.memory.choice], [300, 'pool']);
  t.is(Number(alone.memoryLimit), 300 * MIB);
});

test('a watched run that joins a container with lowered memory restores it', (t) => {
  const { grants, container, run } = scene();
  const one = container();
  const first = run(one);
  first.memory.granted = 100 * MIB;
  grants.takeMemory(first, false, 100);
  const watched = run(one);
  watched.enforced = false;
  grants.takeMemory(watched, false, 100);
  t.is(one.memory.granted, 100 * MIB, 'alone it changes nothing');
  grants.takeMemory(watched, true, 100);
  t.deepEqual([one.memory.granted / MIB, first.memory.choice], [256, 'restored']);
  t.false(first.fn.memorySpiked, 'it has not tripped');
  t.false(first.trippedMemory);
});

test('user limits from outside take back what was lowered and what was lent', (t) => {
  const { grants, container, run } = scene();
  const one = container();
  const [enforced, watched] = [run(one), run(one)];
  enforced.cpu.granted = 400;
  enforced.memory.granted = 100 * MIB;
  grants.takeCpu(enforced, false, 100, 0.1);
  grants.takeMemory(enforced, false, 100);
  watched.enforced = false;
  Object.assign(watched.cpu, { granted: 700, choice: 'chosen' });
  grants.userLimits(one, 10 as Millis);
  t.deepEqual(
    [one.cpu.granted, one.memory.granted / MIB],
    [1000, 256],
    'the pools count the user limits',
  );
  t.deepEqual([enforced.cpu.granted, enforced.cpu.choice], [1000, 'restored']);
  t.deepEqual([enforced.memory.granted / MIB, enforced.memory.choice], [256, 'restored']);
  t.deepEqual([watched.cpu.granted, watched.cpu.choice], [700, 'chosen'], 'only shown');
});

test('user limits from outside say nothing of a resource that is not managed', (t) => {
  const { grants, container, run } = scene();
  const weighted = container(0);
  const guaranteed = run(weighted, 'guarantee');
  Object.assign(guaranteed.cpu, { granted: 700, choice: 'user' });
  Object.assign(guaranteed.memory, { granted: 300, choice: 'loan' });
  grants.userLimits(weighted, 10 as Millis);
  t.deepEqual([guaranteed.cpu.granted, guaranteed.cpu.choice], [700, 'user'], 'weight mode');
  t.deepEqual([guaranteed.memory.granted, guaranteed.memory.choice], [300, 'loan'], 'guarantee');
});

test('memory that its lender needs back is taken from the borrower and visited', (t) => {
  const { grants, container, run } = scene(4, 512);
  const [lender, borrower] = [container(), container()];
  const small = run(lender);
  small.memory.granted = 100 * MIB;
  grants.takeMemory(small, false, 100);
  const large = run(borrower);
  large.memory.granted = 400 * MIB;
  grants.takeMemory(large, false, 100);
  t.is(borrower.memory.granted, 400 * MIB);
  grants.restoreMemory(lender, 50 as Millis, true);
  t.true(small.fn.memorySpiked && small.trippedMemory);
  const visited: [ContainerState, string][] = [];
  grants.takeChanged(true, (which, why) => visited.push([which, why]));
  t.deepEqual(visited, [[borrower, 'revoked']]);
  t.deepEqual([large.memory.granted / MIB, large.memory.choice], [256, 'revoked']);
  t.is(Number(large.memoryLimit), 256 * MIB);
});

test('what a lowered limit kept free is counted by the container’s oldest run', (t) => {
  const { container, run } = scene();
  const one = container();
  const [oldest, younger] = [run(one), run(one)];
  for (const each of [oldest, younger]) {
    each.cpu.granted = 400;
    each.memory.granted = 156 * MIB;
    settle(each, 2000 as Millis);
  }
  // 600 millicores and 100 MiB for two seconds.
  t.deepEqual([oldest.harvested, oldest.harvestedMemory], [1200, 200_000]);
  t.deepEqual([younger.harvested, younger.harvestedMemory], [0, 0]);
  settle(oldest, 2000 as Millis);
  settle(oldest, 1000 as Millis);
  t.is(oldest.harvested, 1200, 'no time, no harvest');
  oldest.enforced = false;
  settle(oldest, 5000 as Millis);
  t.is(oldest.harvested, 1200, 'only shown');
});

test('a limit whose write failed is the user’s again, for that resource alone', (t) => {
  const player = new Player(decider({ memoryPolicy: 'faasrm' }), limits(256, 1));
  player.whole(1000, 0.2, 100);
  const run = player.start(player.now + 10);
  t.true(run.cpu.reduced && run.memory.reduced);
  player.decider.refused(run, 'memory', player.now as Millis);
  t.true(run.cpu.reduced);
  t.deepEqual([run.memory.granted / MIB, run.memory.choice], [256, 'restored']);
  t.deepEqual([player.fn.memorySpiked, run.trippedMemory], [false, false]);
  run.memory.choice = 'user';
  player.decider.refused(run, 'memory', player.now as Millis);
  t.is(run.memory.choice, 'user', 'nothing was lowered');
  player.decider.refused(run, 'cpu', player.now as Millis);
  t.deepEqual([run.cpu.granted, run.cpu.choice], [1000, 'restored']);
  t.deepEqual([player.fn.cpuSpiked, run.trippedCpu], [false, false]);
  run.cpu.choice = 'user';
  player.decider.refused(run, 'cpu', player.now as Millis);
  t.is(run.cpu.choice, 'user');
});

test('the control arm and the safeguard are counted per function', (t) => {
  const control = new Player(decider({ controlShare: 1 }), limits(256, 1));
  control.whole(100, 0.2);
  t.deepEqual([control.fn.controlled, control.fn.safeguarded], [1, 0]);
  const guarded = new Player(decider(), limits(256, 1));
  guarded.whole(100, 0.2);
  t.deepEqual([guarded.fn.controlled, guarded.fn.safeguarded], [0, 0]);
  guarded.start(guarded.now + 10);
  guarded.finish('failure');
  guarded.whole(100, 0.2);
  t.deepEqual([guarded.fn.controlled, guarded.fn.safeguarded], [0, 1]);
});

test('runs that are together know of each other, and none is a control', (t) => {
  const one = decider({ controlShare: 1 });
  const player = new Player(one, limits(256, 1));
  const first = player.start();
  t.true(first.control);
  const runs = [first];
  for (const together of [2, 3]) {
    const next = new Run(player.fn, player.container);
    one.start(next, (player.now + together) as Millis);
    runs.push(next);
    t.deepEqual(
      runs.map((run) => [run.control, run.concurrency]),
      runs.map(() => [false, together]),
    );
  }
  // One ends, another comes: the first two were three at once, the new one is one of three.
  one.finish(runs[2]!, 'success', 10, true, (player.now + 20) as Millis);
  one.finish(runs[1]!, 'success', 10, true, (player.now + 20) as Millis);
  const last = new Run(player.fn, player.container);
  one.start(last, (player.now + 30) as Millis);
  t.deepEqual([first.concurrency, last.concurrency], [3, 2]);
});

test('the next run of a container is measured from the end of the one before', (t) => {
  const one = decider();
  const player = new Player(one, limits(256, 1));
  const first = player.start();
  const second = new Run(player.fn, player.container);
  one.start(second, player.now as Millis);
  first.endCpu = 0 as typeof first.endCpu;
  one.finish(first, 'success', 500, true, 1500 as Millis);
  t.deepEqual(
    [second.windowCpu, Number(second.windowAt), Number(second.countedTo)],
    [0, 1500, 1500],
  );
  const third = new Run(player.fn, player.container);
  one.start(third, 1500 as Millis);
  // The younger one ends: the older one's window goes on.
  third.endCpu = 900_000 as typeof third.endCpu;
  one.finish(third, 'success', 100, true, 1600 as Millis);
  t.deepEqual([second.windowCpu, Number(second.windowAt)], [0, 1500]);
  // Without a counter there is nothing to begin with.
  const fourth = new Run(player.fn, player.container);
  one.start(fourth, 1600 as Millis);
  one.finish(second, 'success', 100, true, 1700 as Millis);
  t.deepEqual([fourth.windowCpu, Number(fourth.countedTo)], [-1, 1700]);
});

test('another host’s memory peak counts, but not under the published rules', (t) => {
  for (const [preset, peak] of [
    ['default', 200],
    ['freyr-code', 0],
  ] as const) {
    const player = new Player(decider({ preset }), limits(256, 1));
    player.decider.sharedMemoryPeak(player.fn, 200 * MIB, 1000 as Millis);
    t.is(player.fn.memoryPeak.read(1000, 3_600_000) / MIB, peak);
  }
});

test('a paused container is not measured', (t) => {
  const player = new Player(decider(), limits(256, 1));
  const run = player.start();
  player.sample(100, 0.2);
  const paused = player.usage(50);
  paused.at = (player.now + 10_000) as Millis;
  paused.frozen = true;
  t.is(player.decider.sample(run, paused, paused.at), 'none');
  t.is(Number(run.windowAt), player.now + 10_000);
  t.is(player.container.last.at, paused.at);
  player.now += 10_000;
  player.sample(100, 0.6);
  // 60 ms in the 100 ms after the pause.
  t.is(run.cpu.peak, 600);
});
