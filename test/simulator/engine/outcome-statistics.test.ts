import test from 'ava';
import { OutcomeStatistics } from '../../../simulator/engine/outcome-statistics.js';

test('figures count every activation that has ended, however many are counted together', (t) => {
  const statistics = new OutcomeStatistics(2, 1.2);
  let ended = 0;
  for (const more of [1, 2, 300, 700]) {
    for (let i = 0; i < more; i++) {
      // Twice what it takes alone and at its user limits, 1000 us, for function 1.
      statistics.succeeded(1, 2000, 2000, 2000, 1000, 1000);
      ended++;
    }
    // Each of them may be asked first.
    t.is(statistics.isKnown(1), ended >= 20);
    t.is(statistics.functionSummary(1, 'f', undefined).meanSlowdown, 2);
    t.is(statistics.slowdown.count, ended);
    t.is(statistics.rfet.sum, 2 * ended);
    t.is(statistics.response.max, 2000);
    t.is(statistics.slow, ended);
    t.is(statistics.functionSummary(0, 'other', undefined).meanSlowdown, 0);
  }
});

test('a response that rounding makes shorter than the work alone counts as no slowdown', (t) => {
  const statistics = new OutcomeStatistics(1, 1.2);
  statistics.succeeded(0, 10, 10, 10, 10.4, 10.4);
  t.is(statistics.slowdown.sum, 1);
  t.is(statistics.slow, 0);
});

test('a run is judged by the objective that its hooks decide by', (t) => {
  // Alone 1 ms each: an objective of 1.2 or 3 ms, up to the bins' width.
  for (const sloFactor of [1.2, 3]) {
    const statistics = new OutcomeStatistics(1, sloFactor);
    for (let i = 0; i < 20; i++) statistics.succeeded(0, 2000, 2000, 2000, 1000, 1000);
    const { sloMs, late } = statistics.functionSummary(0, 'f', undefined);
    t.true(Math.abs(sloMs! / sloFactor - 1) < 0.05, `${sloMs}`);
    // 2 ms each.
    t.is(late, sloFactor < 2 ? 20 : 0);
  }
});
