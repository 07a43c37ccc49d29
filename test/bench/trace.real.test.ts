import test from 'ava';
import { benchTrace } from '../../bench/benefit/trace.js';
import { missing, realParts } from '../support/real-parts.js';
import { allowed } from '../support/slowness.js';

test.serial('the trace on real containers ends as it does without Gleaner', async (t) => {
  if (missing(t, realParts)) return;
  // 3 of 60 minutes: 18 s of arrivals, once without and once with the greedy manager over NATS.
  const rows = await benchTrace({
    minutes: 3,
    log: (line) => t.log(line),
    slowness: allowed(1),
  });
  const figure = (name: string) => rows.find((row) => row.name === `trace.${name}`)!;
  for (const name of ['starts', 'changes'])
    t.like(figure(name).precondition, { holds: true }, name);
  for (const name of ['alike', 'ends', 'writes']) {
    t.true(figure(name).value > 0, name);
    t.is(figure(name).ratio, 1, name);
  }
});
