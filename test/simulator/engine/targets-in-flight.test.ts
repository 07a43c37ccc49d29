import test from 'ava';
import fc from 'fast-check';
import type { Target } from '../../../broker/messages/index.js';
import type { Bytes, Millicores, Millis } from '../../../config/index.js';
import { TargetsInFlight } from '../../../simulator/engine/targets-in-flight.js';

const target = (changes: Partial<Target>, sequence = 1, observedAt = 5): Target => ({
  v: 1,
  function: '/g/f',
  epoch: 1,
  echo: { host: 'host-0', boot: 'b', observedAt: observedAt as Millis },
  author: { host: 'agents', boot: 'b', sequence, manager: 'greedy' },
  ...changes,
});

const optional = fc.option(fc.integer({ min: 1, max: 2 ** 40 }), { nil: undefined });
const targets = fc
  .record({ a: optional, b: optional, c: optional, d: optional, e: optional, peak: optional })
  .map(({ a, b, c, d, e, peak }) => {
    const changes: Partial<Target> = {};
    if (a !== undefined) changes.cpu = a as Millicores;
    if (b !== undefined) changes.memory = b as Bytes;
    if (c !== undefined) changes.weightFactor = c;
    if (d !== undefined) changes.containers = d;
    if (e !== undefined) changes.concurrency = e;
    if (peak !== undefined) changes.peak = { userMemory: peak as Bytes, memory: 7 as Bytes };
    return target(changes, a ?? 3, b ?? 4);
  });

/** Members that are not set are absent or undefined. */
const plain = (message: Target | null) => JSON.parse(JSON.stringify(message));

test('a target arrives as it was sent, whatever was sent to other functions', (t) => {
  const property = fc.property(fc.array(targets, { minLength: 1, maxLength: 150 }), (sent) => {
    const inFlight = new TargetsInFlight();
    const rows = sent.map(() => inFlight.addRow());
    for (const [i, message] of sent.entries()) inFlight.send(rows[i]!, message, 10 as Millis);
    sent.forEach((message, i) => {
      t.is(inFlight.take(rows[i]!, '/g/f', 9 as Millis), null);
      t.deepEqual(plain(inFlight.take(rows[i]!, '/g/f', 10 as Millis)), plain(message));
    });
  });
  fc.assert(property, { numRuns: 30 });
});

test('a newer target replaces one that was not taken', (t) => {
  const inFlight = new TargetsInFlight();
  const first = inFlight.addRow();
  inFlight.send(first, target({ cpu: 100 as Millicores }, 1), 10 as Millis);
  inFlight.send(first, target({ memory: 200 as Bytes }, 2), 20 as Millis);
  t.deepEqual(
    plain(inFlight.take(first, '/g/f', 30 as Millis)),
    plain(target({ memory: 200 as Bytes }, 2)),
  );
});
