import test from 'ava';
import { DroppingQueue } from '../../broker/index.js';

test('the oldest are dropped when the queue is full, and the order stays', (t) => {
  const queue = new DroppingQueue<string>(10);
  t.is(queue.push('a', 4), 0);
  t.is(queue.push('b', 4), 0);
  // 4 + 4 + 5 = 13: the oldest goes, 9 are left.
  t.is(queue.push('c', 5), 1);
  t.deepEqual([queue.length, queue.nextSize], [2, 4]);
  // 9 + 6 = 15, 11, 6: two go.
  t.is(queue.push('d', 6), 2);
  t.is(queue.shift(), 'd');
  t.is(queue.shift(), undefined);
  t.is(queue.nextSize, undefined);
});

test('an item larger than the queue is dropped with all that waited', (t) => {
  const queue = new DroppingQueue<number>(10);
  queue.push(1, 2);
  t.is(queue.push(2, 11), 2);
  t.is(queue.length, 0);
  queue.push(3);
  queue.push(4);
  t.is(queue.clear(), 2);
  t.is(queue.push(5), 0);
  t.is(queue.shift(), 5);
});

test('a million items keep their order and no memory', (t) => {
  const queue = new DroppingQueue<number>(100);
  let dropped = 0;
  let next = 0;
  let last = -1;
  for (let i = 0; i < 1_000_000; i++) {
    dropped += queue.push(next++);
    if (i % 3 === 0) {
      const taken = queue.shift()!;
      if (taken <= last) t.fail(`${taken} after ${last}`);
      last = taken;
    }
  }
  // Every third of a million was taken (333,334), 100 wait or one less, all the others were
  // dropped.
  t.is(dropped + 333_334 + queue.length, 1_000_000);
  t.true(queue.length <= 100 && queue.length >= 99);
});
