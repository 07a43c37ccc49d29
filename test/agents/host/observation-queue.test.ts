import test from 'ava';
import { ObservationQueue } from '../../../agents/host/observation-queue.js';
import { type Millis, millis } from '../../../config/index.js';
import { ManualTime } from '../../support/manual-time.js';
import { observation } from '../../support/observations.js';

/**
 * The queue of an agent host whose clock is 1 s ahead of the hook's;
 * an observation takes 2 ms to arrive.
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

test('an observation that is not late is decided at once', (t) => {
  const { time, queue, decided, take } = stage();
  for (let step = 1; step <= 3; step++) {
    time.advance(millis(10_000));
    // A delay of less than a second is not late.
    take('/guest/a', step, time.monotonic() - step * 300);
  }
  t.deepEqual(decided, ['/guest/a invoker-1 1', '/guest/a invoker-1 2', '/guest/a invoker-1 3']);
  t.is(queue.superseded, 0);
});

test('after a pause only the newest observation of each function and host is decided', (t) => {
  const { time, queue, decided, take } = stage();
  time.advance(millis(100_000));
  const begun = time.monotonic();
  take('/guest/a', 1, begun);
  take('/guest/b', 1, begun);
  take('/guest/a', 1, begun, { host: 'invoker-2' });
  decided.length = 0;
  // A pause of 60 s: six observations of each have queued up, one every 10 s.
  time.advance(millis(60_000));
  for (let step = 2; step <= 7; step++) {
    const madeAt = begun + (step - 1) * 10_000 - 5000;
    take('/guest/a', step, madeAt);
    take('/guest/b', step, madeAt);
    take('/guest/a', step, madeAt, { host: 'invoker-2' });
  }
  // Observed at 55 s; two clocks may drift apart by 60 ms in a minute.
  t.is(queue.lag, 5000 - 60);
  t.deepEqual(decided, []);
  time.advance(millis(100));
  t.deepEqual(decided, ['/guest/a invoker-1 7', '/guest/b invoker-1 7', '/guest/a invoker-2 7']);
  // Five older observations of each of the three.
  t.is(queue.superseded, 15);
  // An observation in time is decided at once again.
  take('/guest/b', 8, time.monotonic());
  t.is(decided.at(-1), '/guest/b invoker-1 8');
  t.true(queue.lag < 1);
});

test('an observation in time supersedes an older one that waits', (t) => {
  const { time, queue, decided, take } = stage();
  take('/guest/a', 1, time.monotonic());
  time.advance(millis(20_000));
  take('/guest/a', 2, time.monotonic() - 10_000);
  take('/guest/a', 3, time.monotonic());
  time.advance(millis(1000));
  t.deepEqual(decided, ['/guest/a invoker-1 1', '/guest/a invoker-1 3']);
  t.is(queue.superseded, 1);
});

test('late observations are decided after a second even if more keep arriving', (t) => {
  const { time, decided, take } = stage();
  take('/guest/a', 1, time.monotonic());
  time.advance(millis(60_000));
  for (let step = 2; step <= 23; step++) {
    // A backlog of 30 s that is caught up at twice the speed of time.
    take(`/guest/f${step}`, step, time.monotonic() - 30_000 + (step - 2) * 50);
    time.advance(millis(50));
  }
  // The first arrives at 0; the 21st, 1 s later, ends the wait for all 21. One more waits.
  t.is(decided.length, 1 + 21);
});

test('a host that was suspended is late once; then its clock counts as it is', (t) => {
  const { time, queue, decided, take } = stage();
  take('/guest/a', 1, time.monotonic());
  // The host was suspended for an hour and its monotonic clock stood still.
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
  // A restart of the hook resets its usual delay, too.
  take('/guest/a', 1, time.monotonic() - 9e9, { boot: 'another' });
  t.is(decided.length, 4);
});

const HOUR = 3_600_000;

test('a host that was suspended is late once, whatever other hosts send', (t) => {
  const { time, queue, decided, take } = stage();
  for (const host of ['invoker-1', 'invoker-2']) take('/guest/a', 1, time.monotonic(), { host });
  time.advance(millis(HOUR));
  take('/guest/a', 2, time.monotonic() - HOUR);
  time.advance(millis(50));
  take('/guest/a', 2, time.monotonic(), { host: 'invoker-2' });
  // It drifts by 3.6 s in an hour at most.
  t.is(queue.lag, HOUR - HOUR * 0.001, 'the largest of all hosts');
  time.advance(millis(50));
  t.deepEqual(decided.slice(2), ['/guest/a invoker-2 2', '/guest/a invoker-1 2']);
  time.advance(millis(10_000));
  take('/guest/a', 3, time.monotonic() - HOUR);
  t.is(decided.at(-1), '/guest/a invoker-1 3', 'at once');
  t.true(queue.lag < 1);
});

test('a suspended host whose observations never pause is late for a second', (t) => {
  const { time, decided, take } = stage();
  take('/guest/a', 1, time.monotonic());
  time.advance(millis(HOUR));
  for (let step = 2; step <= 40; step++) {
    take(`/guest/f${step}`, step, time.monotonic() - HOUR);
    // As above: after the 21st none waits, because no backlog is caught up.
    t.is(decided.length, step < 22 ? 1 : step);
    time.advance(millis(50));
  }
});

test('a delay counts for a minute after the last observation of its host', (t) => {
  const { time, queue, take } = stage();
  take('/guest/a', 1, time.monotonic());
  time.advance(millis(1000));
  take('/guest/a', 2, time.monotonic() - 500);
  // Less 1 s of drift.
  t.is(queue.lag, 500 - 1);
  time.advance(millis(60_001));
  t.is(queue.lag, 0);
});
