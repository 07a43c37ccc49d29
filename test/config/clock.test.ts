import test from 'ava';
import { ManualTime, millis, SeededRandom } from '../../config/index.js';

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
