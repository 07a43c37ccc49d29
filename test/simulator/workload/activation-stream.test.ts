import test from 'ava';
import { ActivationBlock, checkWorkload, planWorkload } from '../../../simulator/workload/index.js';
import { PlanStream } from '../../../simulator/workload/plan.js';

const workload = checkWorkload({
  version: 1,
  name: 'two',
  functions: ['/guest/a', '/guest/b'].map((name) => ({
    name,
    memoryMiB: 128,
    profile: {
      parallelism: 1,
      cpuMs: { exponential: { mean: 20 } },
      memory: { baseMiB: 30, peakMiB: 60 },
    },
    arrivals: { ratePerSecond: 5, seconds: 20 },
  })),
});

test('a plan as a stream: the same activations, block after block, then none', (t) => {
  const plan = planWorkload(workload);
  const stream = new PlanStream(plan);
  const block = new ActivationBlock(7);
  const seen: number[][] = [];
  for (let count = stream.fill(block); count > 0; count = stream.fill(block)) {
    for (let i = 0; i < count; i++) {
      seen.push([
        block.fn[i]!,
        block.arrival[i]!,
        block.cpu[i]!,
        block.io[i]!,
        block.peak[i]!,
        block.payload[i]!,
      ]);
    }
  }
  t.is(stream.fill(block), 0);
  t.is(seen.length, plan.count);
  t.true(plan.count > 100);
  t.deepEqual(
    seen,
    Array.from(plan.fn, (fn, i) => [
      fn,
      plan.arrival[i]!,
      plan.cpu[i]!,
      plan.io[i]!,
      plan.peak[i]!,
      plan.payload[i]!,
    ]),
  );
  t.is(stream.expectedActivations, plan.count);
  t.is(stream.spanMicros, 20_000_000);
});
