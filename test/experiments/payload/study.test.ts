import test from 'ava';
import { payloadStudy } from '../../../experiments/payload/study.js';
import {
  ActivationBlock,
  activationStream,
  openWorkload,
  PayloadStream,
} from '../../../simulator/workload/index.js';

test('sizes have the stated correlation with the work, and demand is unchanged', (t) => {
  const made = () =>
    activationStream(openWorkload('azure-ten', { seed: 3 }), { seed: 3, activations: 20_000 });
  for (const correlation of [0, 0.8]) {
    const [plain, sized] = [new ActivationBlock(20_000), new ActivationBlock(20_000)];
    const count = made().fill(plain);
    t.is(new PayloadStream(made(), correlation, 3).fill(sized), count);
    t.deepEqual(sized.cpu, plain.cpu);
    t.deepEqual(sized.arrival, plain.arrival);
    // Pearson's r of the logarithms, of the function called most.
    const activations = new Map<number, number[]>();
    for (let i = 0; i < count; i++)
      activations.set(sized.fn[i]!, [...(activations.get(sized.fn[i]!) ?? []), i]);
    const busiest = [...activations.values()].sort((a, b) => b.length - a.length)[0]!;
    const x = busiest.map((i) => Math.log(sized.payload[i]!));
    const y = busiest.map((i) => Math.log(sized.cpu[i]!));
    const mean = (of: number[]) => of.reduce((sum, value) => sum + value, 0) / of.length;
    const [mx, my] = [mean(x), mean(y)];
    const covariance = mean(x.map((value, i) => (value - mx) * (y[i]! - my)));
    const r =
      covariance / Math.sqrt(mean(x.map((v) => (v - mx) ** 2)) * mean(y.map((v) => (v - my) ** 2)));
    // Standard error of r about 1 / sqrt(n).
    t.true(
      Math.abs(r - correlation) < 0.03 + 4 / Math.sqrt(busiest.length),
      `${correlation}: ${r} of ${busiest.length}`,
    );
  }
});

test('sizes that tell the work shorten waits; sizes that tell nothing cost nothing', (t) => {
  const cases = [0, 0.95].map((correlation) => ({
    workload: 'azure-sample' as const,
    correlation,
    about: '',
  }));
  const [nothing, much] = payloadStudy({
    seeds: [1],
    loads: [0.9],
    activations: 5000,
    functions: 100,
    cases,
  });
  t.true(Math.abs(nothing!.paired.mean.ratio!.mean - 1) < 0.01);
  t.true(much!.paired.mean.ratio!.mean < 1);
  t.deepEqual(nothing!.blind, much!.blind);
});
