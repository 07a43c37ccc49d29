import { fc, testProp } from '@fast-check/ava';
import test from 'ava';
import { EventQueue } from '../../../simulator/engine/event-queue.js';

testProp(
  'events leave in order of time, and of coming where times are equal',
  [fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 300 }), fc.integer({ min: 0, max: 100 })],
  (t, times, popsBetween) => {
    const queue = new EventQueue(4);
    const waiting: { at: number; order: number }[] = [];
    const take = (): void => {
      waiting.sort((a, b) => a.at - b.at || a.order - b.order);
      const expected = waiting.shift();
      t.is(queue.nextAt, expected?.at ?? Number.POSITIVE_INFINITY);
      t.is(queue.pop(), expected !== undefined);
      if (expected) t.deepEqual([queue.at, queue.stamp], [expected.at, expected.order]);
    };
    times.forEach((at, order) => {
      queue.push(at, 1, 2, order);
      waiting.push({ at, order });
      if (order % 7 === popsBetween % 7) take();
    });
    while (waiting.length > 0) take();
    take();
  },
);

test('an event carries kind, target and stamp', (t) => {
  const queue = new EventQueue();
  queue.push(2 ** 50, 8, 77, 2 ** 40);
  t.is(queue.size, 1);
  t.true(queue.pop());
  t.deepEqual([queue.at, queue.kind, queue.target, queue.stamp], [2 ** 50, 8, 77, 2 ** 40]);
  t.is(queue.size, 0);
});
