import test from 'ava';
import fc from 'fast-check';
import { Packets } from '../../bench/weight-trace/packets.js';
import { decompose, type Host, type Moments, type Owner } from '../../bench/weight-trace/parts.js';
import { IDLE, readLine, Steps, Timelines } from '../../bench/weight-trace/timelines.js';
import type { Tap, TapListener } from '../../openwhisk-plugin/host/ports/index.js';

const MAIN = 10;
const HELPER = 11;
const LIGHT = 20;
const HEAVY = 30;
const GLEANER = 40;
const OWNERS = new Map<number, Owner>([
  [MAIN, { container: 'own' }],
  [HELPER, { container: 'own' }],
  [LIGHT, { container: 'light' }],
  [HEAVY, { container: 'heavy' }],
  [GLEANER, { process: 'gleaner' }],
]);

function constant(value: number): Steps<number> {
  const steps = new Steps<number>();
  steps.set(0, value);
  return steps;
}

function hostOf(timelines: Timelines): Host {
  return {
    timelines,
    ownerOf: (thread) => OWNERS.get(thread) ?? { process: 'system' },
    weights: new Map([
      ['own', constant(100)],
      ['light', constant(10)],
      ['heavy', constant(100)],
    ]),
  };
}

const MOMENTS: Moments = {
  intended: 0,
  called: 1,
  sent: 3,
  request: 6,
  answer: 90,
  began: 20,
  ended: 80,
  received: 95,
  weighed: 6,
};

test('each moment of a response counts once, by who has the core', (t) => {
  const timelines = new Timelines([MAIN]);
  const to = (at: number, core: number, next: number, before: number, isRunnable: boolean) =>
    timelines.switched(at, core, { thread: before, isRunnable }, { thread: next, name: '' });
  to(0, 0, LIGHT, IDLE, false);
  to(0, 1, HEAVY, IDLE, false);
  to(0, 0, MAIN, LIGHT, true);
  to(1, 0, LIGHT, MAIN, false); // asleep until the request wakes it at 8
  timelines.woken(8, 0, MAIN);
  to(10, 0, MAIN, LIGHT, true); // waited 2 for the lighter container
  to(30, 0, GLEANER, MAIN, true); // 10 of the proxy, then 10 of the function
  to(33, 0, MAIN, GLEANER, false); // waited 3 for Gleaner
  timelines.switched(40, 0, { thread: MAIN, isRunnable: true }, { thread: 99, name: 'kworker' });
  timelines.migrated(41, 1, MAIN); // 1 for the kernel, then for the heavy one while core 0 is light
  to(41, 0, LIGHT, 99, false);
  to(44, 0, HEAVY, LIGHT, true); // now both cores have containers of its weight
  to(50, 1, MAIN, HEAVY, true);
  to(60, 1, HELPER, MAIN, false);
  to(65, 1, MAIN, HELPER, false);
  const parts = decompose({ container: 'own', mainThread: MAIN }, MOMENTS, hostOf(timelines));
  t.deepEqual(parts, {
    late: 1,
    queue: 2,
    pathIn: 3,
    own: 10 + 7 + 10 + 15,
    proxy: 10 + 10,
    early: 0,
    lighter: 2,
    uneven: 3,
    heavier: 6,
    client: 0,
    gleaner: 3,
    engine: 0,
    system: 1,
    helpers: 5,
    asleep: 2,
    pathOut: 5,
    unknown: 0,
  });
});

test('a wait before the chosen weight is in force counts as early', (t) => {
  const timelines = new Timelines([MAIN]);
  timelines.switched(0, 0, { thread: MAIN, isRunnable: true }, { thread: LIGHT, name: 'node' });
  timelines.switched(20, 0, { thread: LIGHT, isRunnable: true }, { thread: MAIN, name: 'node' });
  const subject = { container: 'own', mainThread: MAIN };
  const parts = decompose(subject, { ...MOMENTS, weighed: 16 }, hostOf(timelines));
  t.is(parts.early, 10);
  t.is(parts.lighter, 4);
});

test('the parts of any trace add up to the response time', (t) => {
  const threads = fc.constantFrom(IDLE, MAIN, HELPER, LIGHT, HEAVY, GLEANER, 99);
  const event = fc.record({
    after: fc.integer({ min: 0, max: 9 }),
    kind: fc.constantFrom('switch', 'wake', 'move'),
    core: fc.integer({ min: 0, max: 1 }),
    thread: threads,
    isRunnable: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(event), fc.integer({ min: 0, max: 95 }), (events, weighed) => {
      const timelines = new Timelines([MAIN]);
      const current = [IDLE, IDLE];
      let at = 0;
      for (const { after, kind, core, thread, isRunnable } of events) {
        at += after;
        if (kind === 'wake') timelines.woken(at, core, MAIN);
        else if (kind === 'move') timelines.migrated(at, core, MAIN);
        else {
          const before = { thread: current[core]!, isRunnable };
          timelines.switched(at, core, before, { thread, name: '' });
          current[core] = thread;
        }
      }
      const moments = { ...MOMENTS, weighed };
      const parts = decompose({ container: 'own', mainThread: MAIN }, moments, hostOf(timelines));
      const sum = Object.values(parts).reduce((all, one) => all + one, 0);
      return Math.abs(sum - (moments.received - moments.intended)) < 1e-9;
    }),
  );
  t.pass();
});

test("reads the scheduler's events as the kernel prints them", (t) => {
  const timelines = new Timelines([28906]);
  const lines = [
    '# TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION',
    '      bash-6999    [000] d..2. 100.000500: sched_switch: prev_comm=a b prev_pid=6999 ' +
      'prev_prio=120 prev_state=R+ ==> next_comm=v8:Prof Ev next_pid=28906 next_prio=120',
    ' v8:ProfEv-28906   [000] d..2. 100.001000: sched_switch: prev_comm=v8:Prof Ev ' +
      'prev_pid=28906 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120',
    '     sleep-7003    [001] dNh4. 100.002000: sched_wakeup: comm=v8:Prof Ev pid=28906 ' +
      'prio=120 target_cpu=000',
    '     sleep-7003    [001] dNh4. 100.003000: sched_migrate_task: comm=v8:Prof Ev pid=28906 ' +
      'prio=120 orig_cpu=0 dest_cpu=1',
  ];
  for (const line of lines) readLine(line, timelines);
  const states = [100_000.5, 100_001, 100_002, 100_003].map((at) => timelines.stateOf(28906, at));
  t.deepEqual(states, [
    { state: 'runs', core: 0 },
    { state: 'sleeps', core: 0 },
    { state: 'waits', core: 0 },
    { state: 'waits', core: 1 },
  ]);
  t.is(timelines.nameOf(28906), 'v8:Prof Ev');
  t.is(timelines.cores[0]!.at(100_001.5), IDLE);
});

test('a trace ends at once where the bridge cannot be captured', async (t) => {
  let listener: TapListener | undefined;
  const tap: Tap = {
    start: (its) => {
      listener = its;
    },
    watch: () => listener?.lost('unavailable', 'docker0', 'no such device'),
    bind: () => undefined,
    unbind: () => undefined,
    stop: async () => undefined,
  };
  await t.throwsAsync(new Packets(tap).start([]), {
    message: 'cannot capture packets on docker0: no such device',
  });
});
