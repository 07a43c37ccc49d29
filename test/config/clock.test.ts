import test from 'ava';
import { wallClock } from '../../config/clock.js';
import { millis, SeededRandom } from '../../config/index.js';
import { ManualTime } from '../support/manual-time.js';

test('manual time fires due timers in order of time, each at its own time', (t) => {
  const time = new ManualTime();
  const seen: string[] = [];
  time.after(millis(30), () => seen.push(`once@${time.monotonic()}`));
  const stop = time.every(millis(20), () => seen.push(`tick@${time.monotonic()}`));
  time.advance(millis(45));
  t.deepEqual(seen, ['tick@20', 'once@30', 'tick@40']);
  stop();
  time.advance(millis(100));
  t.is(seen.length, 3);
});

test('a fork of a random stream does not depend on what its parent drew', (t) => {
  const first = new SeededRandom(7);
  const second = new SeededRandom(7);
  second.next();
  t.is(first.fork('arrivals').next(), second.fork('arrivals').next());
  t.not(first.fork('arrivals').next(), first.fork('demand').next());
});

test('the wall clock follows the host’s and has finer steps than milliseconds', (t) => {
  const time = new ManualTime(1_700_000_000_000_000);
  let set = 0;
  const clock = wallClock(time, () => Math.floor((time.wall() + set) / 1000) * 1000);
  time.advance(millis(0.25));
  t.is(clock.wall() as number, 1_700_000_000_000_250);
  set = -3_600_000_000;
  t.is(clock.wall() as number, 1_699_996_400_000_000);
  time.advance(millis(0.5));
  t.is(clock.wall() as number, 1_699_996_400_000_500);
  set = 0;
  t.true(Math.abs(clock.wall() - time.wall()) <= 1000);
});
