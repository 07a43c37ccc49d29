import test from 'ava';
import { type Micros, millis } from '../../../config/index.js';
import type { Activation } from '../../../openwhisk-plugin/control/index.js';
import type { Container } from '../../../openwhisk-plugin/daemon/containers.js';
import { UsageReader } from '../../../openwhisk-plugin/daemon/usage.js';

/** What the reader uses of an activation. `counter`: at the last answer; `now`: the kernel's. */
function activation(counter: number, now: number, running = 1) {
  const container = {
    running,
    cpuCounter: counter,
    cpuCounterAt: 0,
    cpuSummed: -1,
    probe: { cpu: () => now as Micros },
  };
  const run = { startCpu: -1, lateCpu: 0 };
  return { container, run };
}

function atStart(started: ReturnType<typeof activation>, at: number): { late: number } {
  new UsageReader().atStart(started as unknown as Activation<Container>, millis(at));
  return { late: started.run.lateCpu };
}

test('what a container has used since its last answer is known at its next start', (t) => {
  t.is(atStart(activation(10_000, 70_000), 1000).late, 60_000);
  // Within 100 ms the counter is not read again: then it is a part of the activation's own use.
  const soon = activation(10_000, 70_000);
  t.is(atStart(soon, 50).late, 0);
  t.is(soon.run.startCpu, 10_000);
});

test('nothing is known of a first activation, and of one that starts beside another', (t) => {
  t.is(atStart(activation(-1, 70_000), 1000).late, 0);
  t.is(atStart(activation(10_000, 70_000, 2), 1000).late, 0);
});
