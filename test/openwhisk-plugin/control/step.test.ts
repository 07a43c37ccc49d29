import test from 'ava';
import { type Bytes, type Millicores, type Millis, millis } from '../../../config/index.js';
import { HostLoad } from '../../../openwhisk-plugin/control/host-load.js';
import {
  closeStep,
  FunctionRecord,
  hostReport,
  Revision,
} from '../../../openwhisk-plugin/control/index.js';
import { type EndedStep, Step } from '../../../openwhisk-plugin/control/step.js';
import { type Decider, FunctionState, Run } from '../../../openwhisk-plugin/decision/index.js';
import { decider, host, limits, plain } from '../decision/helpers.js';

const user = limits(256, 1);

/** One that ended after 100 ms, granted .5 of its user's 1 core and 100 bytes of memory. */
function ended(changes: Partial<EndedStep> = {}, run: object = {}): EndedStep {
  const state = new FunctionState('/g/f', '1', user, 'guarantee', 1);
  const one = new Run(state, decider().container(user));
  Object.assign(one.cpu, { granted: 500, demand: 600, peak: 300 });
  Object.assign(one.memory, { granted: 100, demand: 200, peak: 50 });
  Object.assign(one, run);
  return {
    run: one,
    duration: 100_000,
    initMicros: 0,
    cold: false,
    clean: true,
    ...changes,
  } as EndedStep;
}

/** Closes the step. */
function observed(step: Step, slo = Number.NaN, now = 5000) {
  const state = new FunctionState('/g/f', '1', user, 'guarantee', 1);
  const fn = Object.assign(new FunctionRecord('/g/f'), {
    mode: 'enforce' as const,
    cpuMode: 'quota' as const,
    step,
    userCpu: 1000,
    running: 1,
    containers: 2,
  });
  fn.revision = new Revision(fn, '1', state);
  return closeStep(fn, { host: 'h', boot: 'b' }, { slo: () => slo }, now);
}

test('a step begins with its first activation and counts those that ended in it', (t) => {
  const step = new Step();
  t.true(step.empty);
  step.record(ended(), false, 200, 1000);
  step.record(ended({}, { control: true }), false, 200, 2000);
  step.record(ended({ cold: true, initMicros: 40_000 as never }), true, 400, 3000);
  step.record(ended({ clean: false }), true, -1, 4000);
  t.deepEqual(
    [step.beganAt, step.activations, step.ended, step.coldStarts, step.failures],
    [1000, 3, 4, 1, 2],
  );
  t.deepEqual([step.inits, step.initTotal], [1, 40]);
  t.deepEqual(
    [step.latency.count, step.coldLatency.count, step.control.count],
    [2, 1, 1],
    'an end that was not seen has no latency',
  );
  t.is(step.coldLatency.mean, 140, 'init and run');
  // Ended by its deadline.
  const minute = { clean: false, duration: 60_000_000 as never };
  step.record(ended(minute, { control: true }), false, -1, 0);
  t.deepEqual([step.ended, step.control.count, step.control.mean], [5, 1, 100], 'nor has this one');
  t.is(step.usedCpu, 300, 'the mean of those whose use is known');
});

test('use is known only with both readings', (t) => {
  const step = new Step();
  t.deepEqual([step.usedCpu, step.usedMemory], [0, 0]);
  step.record(ended(), false, -1, 0);
  step.record(ended({}, { memory: { peak: -1, demand: 0, granted: 1, user: 1 } }), false, 900, 0);
  t.deepEqual([step.usedCpu, step.usedMemory], [0, 0]);
  step.record(ended(), false, 0, 0);
  step.record(ended({}, { memory: { peak: 150, demand: 0, granted: 1, user: 1 } }), false, 400, 0);
  t.deepEqual([step.usedCpu, step.usedMemory], [200, 100]);
});

test('a step keeps the largest peaks, and the spread of what was in force', (t) => {
  const step = new Step();
  const run = (cpu: object, memory: object, enforced = true) =>
    step.record(
      ended(
        {},
        {
          enforced,
          cpu: { peak: 1, demand: 1, granted: 1, user: 1000, ...cpu },
          memory: { peak: 1, demand: 1, granted: 1, user: 256, ...memory },
        },
      ),
      false,
      1,
      0,
    );
  run({ peak: 300, demand: 900, granted: 500 }, { peak: 40, demand: 300, granted: 100 });
  run({ peak: 700, demand: 200, granted: 800 }, { peak: 90, demand: 100, granted: 200 });
  run({ peak: 500, demand: 500, granted: 1 }, { peak: 60, demand: 200, granted: 1 }, false);
  t.deepEqual([step.peakCpu, step.peakMemory], [700, 90]);
  // Not enforced: the user's.
  t.deepEqual(step.grantedCpu, { min: 500, mean: 2300 / 3, max: 1000 });
  t.deepEqual(step.grantedMemory, { min: 100, mean: 556 / 3, max: 256 });
});

test('the next step starts from nothing but its number', (t) => {
  const step = new Step();
  step.record(ended({ cold: true, initMicros: 10_000 as never }), true, 200, 1000);
  step.record(ended({}, { control: true }), false, 200, 1000);
  step.addWait(3);
  Object.assign(step, { oomKills: 1, periods: 4, throttledPeriods: 2 });
  step.clear();
  const fresh = new Step();
  fresh.number = 1;
  t.is(observed(step), null, 'nothing to report');
  t.deepEqual([step.waited, step.periods, step.usedCpu, step.inits], [0, 0, 0, 0]);
  t.deepEqual(step.grantedCpu, { min: 0, mean: 0, max: 0 });
  step.record(ended(), false, 100, 7000);
  t.deepEqual([step.beganAt, step.usedCpu], [7000, 100]);
  t.deepEqual(step.grantedCpu, { min: 500, mean: 500, max: 500 });
  fresh.record(ended(), false, 100, 7000);
  t.deepEqual(observed(step, Number.NaN, 8000), observed(fresh, Number.NaN, 8000));
  t.is(step.number, 2);
});

test('a step closes after its activations, or so long after the first of them', (t) => {
  const length = { stepActivations: 2, stepMillis: 10_000 };
  const step = new Step();
  step.record(ended(), false, 200, 1000);
  t.false(step.isFull(length));
  t.is(step.closesAt(length), 11_000);
  step.record(ended({}, { control: true }), false, 200, 2000);
  t.true(step.isFull(length), 'those of the control arm count');
});

test('an observation has an optional field only if there is something to say', (t) => {
  const step = new Step();
  step.record(ended(), false, 200, 1000);
  const plainOne = observed(step)!;
  for (const field of ['cpuWait', 'coldLatency', 'initTime', 'inits', 'slo'] as const)
    t.is(plainOne[field], undefined, field);
  t.deepEqual([plainOne.span, plainOne.concurrency], [millis(4000), 1]);
  step.record(ended(), false, 200, 1000);
  step.record(ended({ cold: true, initMicros: 30_000 as never }), false, 200, 1000);
  step.record(ended({ initMicros: 50_000 as never }), false, 200, 1000);
  step.addWait(6);
  Object.assign(step, { waits: true, periods: 4, throttledPeriods: 6 });
  const full = observed(step, 250)!;
  t.is(full.cpuWait, millis(2), '6 ms over three activations');
  t.is(full.initTime, millis(40));
  t.is(full.inits, 2, 'one of them of a container that was warm');
  t.is(full.coldLatency?.sum, 130);
  t.is(full.slo, millis(250));
  t.is(full.throttledShare, 1, 'counters that were read apart');
  for (const slo of [0, -1, Number.POSITIVE_INFINITY]) {
    step.record(ended(), false, 200, 1000);
    t.is(observed(step, slo)!.slo, undefined);
  }
});

test('amounts that are unknown are 0 in messages', (t) => {
  const step = new Step();
  step.record(ended({}, { cpu: { peak: -1, demand: 1, granted: 1, user: 1 } }), false, 0, 0);
  t.is(observed(step)!.peak.cpu, 0 as Millicores);
});

/** A report of a host with eight cores and 1024 bytes. */
function report(
  functions: FunctionRecord[],
  reserve: { cpuReserve: number; memoryReserve: number } = { cpuReserve: 1000, memoryReserve: 24 },
) {
  const host8 = {
    settings: { ...plain, ...reserve },
    capacity: { ...host(8), allocatableMemory: 1024 as Bytes },
    cpuPool: { granted: 700, free: 300 },
    memoryPool: { granted: 70, free: 30 },
  } as unknown as Decider;
  const sender = { host: 'h', boot: 'b', sequence: 1 };
  const state = { containers: 4, running: 3, mode: 'enforce' } as const;
  return hostReport(sender, host8, new HostLoad(), functions, state, 40_000 as Millis);
}

test('a host counts the functions that ran in the last thirty seconds, and asks for none', (t) => {
  const record = (running: number, lastSeen: number, known = true): FunctionRecord => {
    const fn = new FunctionRecord('/g/f');
    if (known) fn.revision = new Revision(fn, '1', {} as FunctionState);
    return Object.assign(fn, { running, lastSeen });
  };
  const { demand, functions, allocatable, granted, pool } = report([
    record(0, 10_000), // idle for exactly thirty seconds
    record(0, 9999),
    record(3, 0), // running, however long ago they started
    record(0, 40_000, false),
  ]);
  t.deepEqual([functions, demand.cpu, demand.memory], [2, 0 as Millicores, 0 as Bytes]);
  t.deepEqual(allocatable, { cpu: 7000 as Millicores, memory: 1000 as Bytes });
  t.deepEqual(granted, { cpu: 700 as Millicores, memory: 70 as Bytes }, 'by the pools');
  t.deepEqual(pool, { cpu: 300 as Millicores, memory: 30 as Bytes });
});

test('a reserve above the capacity leaves nothing to grant', (t) => {
  const { allocatable } = report([], { cpuReserve: 9000, memoryReserve: 9e12 });
  t.deepEqual(allocatable, { cpu: 0 as Millicores, memory: 0 as Bytes });
});
