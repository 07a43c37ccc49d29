import test from 'ava';
import fc from 'fast-check';
import { localFeatures, sloPreservation } from '../../agents/features.js';
import type { Millis } from '../../config/index.js';
import { amounts, granted, observation } from '../support/observations.js';

test('the six features follow their definitions', (t) => {
  const seen = observation({
    used: amounts(250, 100),
    granted: granted(500, 128),
    slo: 50 as Millis,
  });
  const [util, slo, cpu, others, containers, rate] = localFeatures(seen, null, null);
  t.is(util, 0.5);
  // All 20 activations took 100 ms; the histogram is exact to half a bucket, a factor of 1.0443:
  // 50 / 100.
  t.true(slo! > 0.5 / 1.0444 && slo! < 0.5 * 1.0444);
  // 500 millicores x 2 containers / 20000 if no capacity is known.
  t.is(cpu, 0.05);
  t.is(others, 0);
  t.is(containers, 0.1);
  // 20 activations in 10 s: ln(1 + 2) of ln(1 + 1000).
  t.true(Math.abs(rate! - 1.098612 / 6.908755) < 1e-6);
});

test('the SLO is met without activations, missed if they wait without a container', (t) => {
  t.is(sloPreservation(observation({ activations: 0, slo: 1 as Millis })), 1);
  t.is(sloPreservation(observation({ containers: 0, running: 3 })), 0);
  t.is(sloPreservation(observation({ slo: 200 as Millis })), 1);
});

test('arrival rates that differ by decades differ in the feature, also above ten a second', (t) => {
  const rateOf = (activations: number): number =>
    localFeatures(observation({ activations, span: 1000 as Millis }), null, null)[5]!;
  const rates = [0, 1, 10, 30, 100, 300].map(rateOf);
  for (let i = 1; i < rates.length; i++) t.true(rates[i]! - rates[i - 1]! > 0.09, `${rates}`);
});

test('every feature stays in [0, 1] for any observation', (t) => {
  const amount = fc.double({ min: 0, max: 1e6, noNaN: true });
  fc.assert(
    fc.property(
      amount,
      amount,
      amount,
      fc.nat(1000),
      fc.nat(1000),
      (used, limit, span, containers, activations) => {
        const seen = observation({
          used: amounts(used, 1),
          granted: granted(limit, 1),
          span: span as Millis,
          containers,
          activations,
        });
        return localFeatures(seen, null, null).every((value) => value >= 0 && value <= 1);
      },
    ),
  );
  t.pass();
});
