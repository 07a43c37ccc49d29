import { fc, testProp } from '@fast-check/ava';
import { HostClock } from '../../../simulator/engine/host-clock.js';

/** Few instants, so that hosts are often due at the same one. */
const changes = fc.array(fc.tuple(fc.nat(8), fc.oneof(fc.nat(5), fc.constant(Infinity))), {
  minLength: 1,
  maxLength: 60,
});

testProp(
  'the earliest host is first, the lowest at equal times',
  [fc.integer({ min: 1, max: 9 }), changes],
  (t, hosts, list) => {
    const clock = new HostClock(hosts);
    const times = new Array<number>(hosts).fill(Number.POSITIVE_INFINITY);
    for (const [host, at] of list) {
      times[host % hosts] = at;
      clock.set(host % hosts, at);
      const earliest = Math.min(...times);
      t.is(clock.firstAt, earliest);
      t.is(clock.first, times.indexOf(earliest));
    }
  },
);
