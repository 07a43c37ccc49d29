import { fc, testProp } from '@fast-check/ava';
import test from 'ava';
import { DropCounters } from '../../../../openwhisk-plugin/host/tap/drop-counters.js';

// tcpdump.c, info(): what SIGUSR1 prints; "dropped by interface" only where that counter is not 0.
const line = (kernel: number | string, byInterface?: number | string): string =>
  `tcpdump: 9 packets captured, 12 packets received by filter, ` +
  `${kernel} packets dropped by kernel` +
  (byInterface === undefined ? '' : `, ${byInterface} packets dropped by interface`);
const LAST = 2 ** 32 - 1;

test('only drops of the kernel are a loss; drops of the interface are counted apart', (t) => {
  const counters = new DropCounters();
  t.deepEqual(counters.read(line(0)), { kernel: 0, interface: 0, ignored: 0 });
  t.deepEqual(counters.read(line(0, 7)), { kernel: 0, interface: 7, ignored: 0 });
  t.deepEqual(counters.read(line(3, 9)), { kernel: 3, interface: 2, ignored: 0 });
  t.deepEqual(counters.read(line(4, 9)), { kernel: 1, interface: 0, ignored: 0 });
  t.deepEqual(counters.read('1 packet dropped by kernel'), { kernel: 0, interface: 0, ignored: 1 });
});

test('the final lines of tcpdump are read one by one, and others have no counters', (t) => {
  const counters = new DropCounters();
  for (const text of [
    'tcpdump: listening on docker0, link-type EN10MB (Ethernet)',
    'dropped privs to tcpdump',
    '3 packets captured',
    '',
  ])
    t.is(counters.read(text), null);
  t.deepEqual(counters.read('1 packet dropped by kernel'), { kernel: 1, interface: 0, ignored: 0 });
  t.deepEqual(counters.read('1 packet dropped by interface'), {
    kernel: 0,
    interface: 1,
    ignored: 0,
  });
});

test('an implausible counter is ignored, and the next plausible one counts as before', (t) => {
  const counters = new DropCounters();
  t.is(counters.read(line(5))?.kernel, 5);
  for (const garbage of [
    4,
    LAST,
    LAST - 1,
    2 ** 32,
    '99999999999999999999',
    '-3',
    '1e3',
    'NaN',
    '0x10',
    '∞',
  ])
    t.deepEqual(
      counters.read(line(garbage)),
      { kernel: 0, interface: 0, ignored: 1 },
      String(garbage),
    );
  t.deepEqual(counters.read(line(6)), { kernel: 1, interface: 0, ignored: 0 });
  // As libpcap's difference after an interface was recreated.
  t.deepEqual(counters.read(line(6, LAST)), { kernel: 0, interface: 0, ignored: 1 });
});

test('a counter that passes 2^32 in small steps goes on', (t) => {
  const counters = new DropCounters();
  t.is(counters.read(line(2 ** 31 - 1))?.kernel, 2 ** 31 - 1);
  t.is(counters.read(line(LAST))?.ignored, 1, 'half of the range is more than a step');
  t.is(counters.read(line(LAST - 1))?.kernel, 2 ** 31 - 1);
  t.is(counters.read(line(4))?.kernel, 6);
});

testProp(
  'no text gives a drop that is negative, fractional or beyond the highest counter',
  [
    fc.array(
      fc.oneof(
        fc.nat({ max: 1000 }).map(String),
        fc.string({ maxLength: 12 }),
        fc.bigInt().map(String),
      ),
    ),
  ],
  (t, values) => {
    const counters = new DropCounters();
    let sum = 0;
    for (const value of values) {
      const drops = counters.read(line(value));
      if (drops === null) continue;
      for (const count of Object.values(drops))
        t.true(Number.isInteger(count) && count >= 0 && count < 2 ** 31);
      sum += drops.kernel;
    }
    const highest = Math.max(
      0,
      ...values.map((value) => (/^\d+$/.test(value) ? Number(value) : 0)),
    );
    t.true(sum <= Math.max(highest, 2 ** 32));
  },
);
