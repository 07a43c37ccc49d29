import test from 'ava';
import { ObservationQueue } from '../../../agents/host/observation-queue.js';
import { ManualTime } from '../../../config/clock.js';
import { type Millis, millis } from '../../../config/index.js';
import { observation } from '../../support/observations.js';

/**
 * A desk of an agent host whose clock is 1 s ahead of the hook's, beside hooks that send from afar:
 * an observation takes 2 ms.
 */
function stage() {
  const time = new ManualTime();
  const decided: string[] = [];
  const queue = new ObservationQueue({
    timers: time,
    now: () => time.monotonic(),
    decide: ({ function: fn, host, step }) => void decided.push(`${fn} ${host} ${step}`),
  });
  const take = (fn: string, step: number, madeAt: number, changes = {}): void =>
    queue.take(
      observation({ function: fn, step, observedAt: (madeAt - 1002) as Millis, ...changes }),
      time.monotonic(),
    );
  return { time, queue, decided, take };
}

test('an observation that comes as it is made is decided at once', (t) => {
  const { time, queue, decided, take } = stage();
  for (let step = 1; step <= 3; step++) {
    time.advance(millis(10_000));
    // A hold-up of less than a second is none.
    take('/guest/a', step, time.monotonic() - step * 300);
  }
  t.deepEqual(decided, ['/guest/a invoker-1 1', '/guest/a invoker-1 2', '/guest/a invoker-1 3']);
  t.is(queue.superseded, 0);
});

test('after a pause the newest of each function and host is decided, the others are counted, and no clock is compared', (t) => {
  const { time, queue, decided, take } = stage();
  time.advance(millis(100_000));
  const begun = time.monotonic();
  take('/guest/a', 1, begun);
  take('/guest/b', 1, begun);
  take('/guest/a', 1, begun, { host: 'invoker-2' });
  decided.length = 0;
  // Held up for 60 s: six observations of each piled up, one every 10 s; all come within a moment.
  time.advance(millis(60_000));
  for (let step = 2; step <= 7; step++) {
    const madeAt = begun + (step - 1) * 10_000 - 5000;
    take('/guest/a', step, madeAt);
    take('/guest/b', step, madeAt);
    take('/guest/a', step, madeAt, { host: 'invoker-2' });
  }
  // Made at 55 s, less the 60 ms that two clocks may have drifted apart in a minute.
  t.is(queue.lag, 5000 - 60);
  t.deepEqual(decided, []);
  time.advance(millis(100));
  t.deepEqual(decided, ['/guest/a invoker-1 7', '/guest/b invoker-1 7', '/guest/a invoker-2 7']);
  // Five older ones of each of the three.
  t.is(queue.superseded, 15);
  // One in time goes on as before, at once.
  take('/guest/b', 8, time.monotonic());
  t.is(decided.at(-1), '/guest/b invoker-1 8');
  t.true(queue.lag < 1);
});

test('one that comes in time makes an older one that waits worthless', (t) => {
  const { time, queue, decided, take } = stage();
  take('/guest/a', 1, time.monotonic());
  time.advance(millis(20_000));
  take('/guest/a', 2, time.monotonic() - 10_000);
  take('/guest/a', 3, time.monotonic());
  time.advance(millis(1000));
  t.deepEqual(decided, ['/guest/a invoker-1 1', '/guest/a invoker-1 3']);
  t.is(queue.superseded, 1);
});

test('while late ones come without an end those that wait are decided after a second', (t) => {
  const { time, decided, take } = stage();
  take('/guest/a', 1, time.monotonic());
  time.advance(millis(60_000));
  for (let step = 2; step <= 23; step++) {
    take(`/guest/f${step}`, step, time.monotonic() - 30_000);
    time.advance(millis(50));
  }
  // The first at 0, 1 s later the 21st ends the wait: all 21 are decided. One more waits on.
  t.is(decided.length, 1 + 21);
});

test('a host that was asleep is late once; then its clock is taken as it is', (t) => {
  const { time, queue, decided, take } = stage();
  take('/guest/a', 1, time.monotonic());
  // Asleep for an hour, in which its monotonic clock stood still.
  time.advance(millis(3_600_000));
  const shift = 3_600_000;
  take('/guest/a', 2, time.monotonic() - shift);
  t.is(decided.length, 1);
  time.advance(millis(100));
  t.is(decided.length, 2);
  time.advance(millis(10_000));
  take('/guest/a', 3, time.monotonic() - shift);
  t.is(decided.length, 3, 'at once');
  t.true(queue.lag <= 100);
  // A restart of the hook begins anew, too.
  take('/guest/a', 1, time.monotonic() - 9e9, { boot: 'another' });
  t.is(decided.length, 4);
});
