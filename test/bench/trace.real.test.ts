import { availableParallelism } from 'node:os';
import test from 'ava';
import { benchTrace } from '../../bench/benefit/trace.js';
import { missing, realParts } from '../support/real-parts.js';
import { allowed } from '../support/slowness.js';

test.serial('the trace on real containers ends as it does without Gleaner', async (t) => {
  if (missing(t, realParts)) return;
  // 5 of 60 minutes: 30 s of arrivals, once without and once with the greedy manager over NATS.
  const rows = await benchTrace({
    minutes: 5,
    log: (line) => t.log(line),
    slowness: allowed(1),
  });
  const figure = (name: string) => rows.find((row) => row.name === `trace.${name}`)!;
  t.like(figure('starts').precondition, { holds: true });
  for (const name of ['alike', 'ends', 'writes']) {
    t.true(figure(name).value > 0, name);
    t.is(figure(name).ratio, 1, name);
  }
  // The wide function wants four times its user CPU, and the greedy manager raises it from its
  // second step on. One core, which the others keep busy, has nothing for it.
  const accelerated = figure('accelerated').value;
  if (availableParallelism() > 1) t.true(accelerated > 0, 'accelerated');
  else t.log(`accelerated on one core: ${accelerated}`);
});
