import test from 'ava';
import fc from 'fast-check';
import { millis } from '../../../../config/index.js';
import { captureFilter } from '../../../../openwhisk-plugin/host/tap/capture-command.js';
import {
  headLength,
  type RequestHead,
  readRequestHead,
  readStatus,
} from '../../../../openwhisk-plugin/host/tap/http-head.js';
import { readIdentity } from '../../../../openwhisk-plugin/host/tap/identity.js';
import { readTcp, TcpPacket } from '../../../../openwhisk-plugin/host/tap/packet.js';
import { PcapStream } from '../../../../openwhisk-plugin/host/tap/pcap.js';
import { WallClockCheck } from '../../../../openwhisk-plugin/host/tap/wall-clock.js';
import { ManualTime } from '../../../support/manual-time.js';
import { BEGIN, CONTAINER, frame, headOf, INVOKER, pcapOf, runBody } from './packets.js';

const identify = (body: string): string | null => {
  const bytes = Buffer.from(body);
  return readIdentity(bytes, 0, bytes.length)?.action ?? null;
};

const segment = (payload: string) => ({
  source: INVOKER,
  destination: CONTAINER,
  sourcePort: 40000,
  destinationPort: 8080,
  sequence: 4_000_000_000,
  acknowledged: 7,
  flags: 24,
  payload: Buffer.from(payload),
});

test('pcap streams of both byte orders, cut at every byte, give the same packets', (t) => {
  const frames = ['a', 'bcd', 'x'.repeat(3000)].map((payload) => frame(segment(payload)));
  for (const little of [true, false]) {
    const stream = pcapOf(frames, { little });
    for (let cut = 0; cut <= stream.length; cut++) {
      const seen: string[] = [];
      const reader = new PcapStream((_bytes, _offset, captured, original, at) =>
        seen.push(`${captured} ${original} ${Math.round(at - BEGIN)}`),
      );
      reader.push(stream.subarray(0, cut));
      reader.push(stream.subarray(cut));
      // 66 bytes of headers; snapshot 2048.
      t.deepEqual(seen, ['67 67 0', '69 69 1', '2048 3066 2']);
    }
  }
});

test('a pcap stream byte by byte gives the packets too', (t) => {
  const stream = pcapOf([frame(segment('POST')), frame(segment('HTTP'))]);
  const seen: string[] = [];
  const reader = new PcapStream((bytes, offset, captured) =>
    seen.push(Buffer.from(bytes.subarray(offset + 66, offset + captured)).toString()),
  );
  for (const byte of stream) reader.push(Buffer.of(byte));
  t.deepEqual(seen, ['POST', 'HTTP']);
});

test('a stream of another format, link type or length stays broken', (t) => {
  const none = new PcapStream(() => t.fail());
  none.push(Buffer.from('GET / HTTP/1.1\r\nHost: nowhere\r\n\r\n'));
  t.is(none.state, 'broken');
  const cooked = pcapOf([frame(segment('x'))]);
  cooked.writeUInt32LE(113, 20);
  const other = new PcapStream(() => t.fail());
  other.push(cooked);
  t.regex(other.reason, /link type 113/);
  const huge = pcapOf([frame(segment('x'))]);
  huge.writeUInt32LE(0x7fffffff, 32);
  const third = new PcapStream(() => t.fail());
  for (const byte of huge) third.push(Buffer.of(byte));
  t.is(third.state, 'broken');
});

test('TCP headers are read behind options and VLAN tags; anything else is refused', (t) => {
  const packet = new TcpPacket();
  const plain = frame(segment('POST /run'), 20);
  t.true(readTcp(plain, 0, plain.length, plain.length, packet));
  t.is(packet.source, INVOKER);
  t.is(packet.destination, CONTAINER);
  t.is(packet.sequence, 4_000_000_000);
  t.is(packet.payloadLength, 9);
  const vlanTagged = Buffer.concat([
    plain.subarray(0, 12),
    Buffer.from([0x81, 0, 0, 5]),
    plain.subarray(12),
  ]);
  t.true(readTcp(vlanTagged, 0, vlanTagged.length, vlanTagged.length, packet));
  t.is(packet.payload, 14 + 4 + 20 + 40);
  for (let cut = 0; cut < plain.length - 9; cut++)
    t.false(readTcp(plain, 0, cut, plain.length, packet));
  const changes: [number, number][] = [
    [12, 0x86],
    [14, 0x65],
    [14, 0x44],
    [20, 0x01],
    [23, 17],
    [46, 0x40],
  ];
  for (const [at, value] of changes) {
    const bad = Buffer.from(plain);
    bad[at] = value;
    t.false(readTcp(bad, 0, bad.length, bad.length, packet), `${at}`);
  }
});

test('a segment too big for its length field is measured by the capture', (t) => {
  const packet = new TcpPacket();
  const bytes = frame(segment('x'.repeat(100)));
  bytes.writeUInt16BE(0, 16);
  t.true(readTcp(bytes, 0, 80, 90_066, packet));
  t.is(packet.payloadLength, 90_000);
  t.is(packet.captured, 14);
});

const read = (text: string): RequestHead | null => {
  const bytes = Buffer.from(text);
  const head = readRequestHead(bytes, 0, bytes.length);
  return head.length > 0 ? head : null;
};

test('request heads are read whatever the case of their names; kind and lengths are right', (t) => {
  const text = headOf('/run', 42);
  t.like(read(`${text}{"action`), {
    kind: 'run',
    contentLength: 42,
    length: text.length,
    measurable: true,
  });
  t.like(read('POST /init HTTP/1.0\r\ncOnTeNt-LeNgTh:\t7 \r\n\r\n'), {
    kind: 'init',
    contentLength: 7,
    measurable: true,
  });
  t.like(read('POST / HTTP/1.1\r\n\r\n'), { kind: 'other', contentLength: -1, measurable: true });
  t.like(read('POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n'), {
    measurable: false,
  });
  t.like(read('POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n'), { measurable: false });
});

test('a head that is cut or not well formed is not read', (t) => {
  const text = headOf('/run', 42);
  for (let cut = 0; cut < text.length; cut++) t.is(read(text.slice(0, cut)), null);
  for (const bad of [
    'POST /run\r\n\r\n',
    'POST  /run HTTP/1.1\r\n\r\n',
    'POST /run HTTP/2.0\r\n\r\n',
    'POST /run HTTP/1.x\r\n\r\n',
    'POST /run HTTP/1.1\n\n',
    'POST /run HTTP/1.1\r\nA: b\n\r\n',
    'POST /run HTTP/1.1\r\n folded\r\n\r\n',
    'POST /run HTTP/1.1\r\nContent-Length : 1\r\n\r\n',
    'POST /run HTTP/1.1\r\nContent-Length: +1\r\n\r\n',
    'POST /run HTTP/1.1\r\nContent-Length: \r\n\r\n',
    'POST /run HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\n',
    'POST /run HTTP/1.1\r\nContent-Length: 9999999999999999\r\n\r\n',
    'POST /run HTTP/1.1\r\nA\r\n\r\n',
    'POST /run HTTP/1.1\r\nA: \0\r\n\r\n',
    'PUT /run HTTP/1.1\r\n\r\n',
  ]) {
    t.is(read(bad), null, bad);
  }
});

test('a status line is read only where it is whole', (t) => {
  const status = (text: string): number => readStatus(Buffer.from(text), 0, text.length);
  t.is(status('HTTP/1.1 200 OK'), 200);
  t.is(status('HTTP/1.0 502'), 502);
  for (const bad of [
    'HTTP/1.1 20',
    'HTTP/1.1 2x0',
    'HTTP/1.1 2000',
    'HTTP/2 200 OK!',
    'HTTP/1.1 099',
    'HTTPS is on ',
  ])
    t.is(status(bad), -1, bad);
  t.is(headLength(Buffer.from('a\r\n\r\nb'), 0, 6), 5);
  t.is(headLength(Buffer.from('a\r\n\r'), 0, 4), -1);
});

test('names with every character OpenWhisk allows, at full length, are read', (t) => {
  // EntityName: [\w][\w@ .&-]{0,254}[\w@.&-]; 256 characters a part.
  const letters = '_aZ09@ .&-';
  const part = letters.repeat(26).slice(0, 255).concat('x');
  const action = `/${part}/${part}/${part}`;
  t.is(identify(runBody({ action })), action);
  t.is(identify(runBody({ action: `/${part}y/a` })), null);
});

test('escapes and UTF-8 in a name are decoded, broken ones are unknown', (t) => {
  t.is(identify(runBody({ action: '\\/guest\\/caf\\u00e9\\"' })), '/guest/café"');
  t.is(identify(runBody({ action: '/guest/héé€😀' })), '/guest/héé€😀');
  for (const action of [
    '/guest/\\x',
    '/guest/\\ud800',
    '/guest/\\u00',
    '/guest/\\n',
    '/guest/\n',
    'guest/a',
    '/guest',
    '/a/b/c/d',
    '//a',
  ])
    t.is(identify(runBody({ action })), null, action);
  const bytes = Buffer.from(runBody({ action: '/guest/\xff' }), 'latin1');
  t.is(readIdentity(bytes, 0, bytes.length), null);
});

test('keys that are repeated, unsorted, escaped, spaced or not strings are unknown', (t) => {
  const good = runBody();
  t.is(identify(good), '/guest/plain');
  t.is(identify(runBody({ extra: '"api_key":"secret:\\"x\\"",' })), '/guest/plain');
  for (const bad of [
    good.replace('{"action_name"', '{"action_name":"/a/b","action_name"'),
    good.replace('"action_version"', '"action_name":"/a/b","action_version"'),
    good.replace('"namespace"', '"action_name":"/a/b","namespace"'),
    good.replace('"namespace"', '"deadline":"1","namespace"'),
    good.replace('action_name', 'action\\u005fname'),
    good.replace('"namespace"', '"nam\\u0065space"'),
    good.replace('":"', '": "'),
    good.replace('"0.0.1"', '1'),
    good.replace('"1700000060000"', '"soon"'),
    good.replace('","activation_id"', '";"activation_id"'),
    good.replace('"activation_id":"0123456789abcdef0123456789abcdef",', ''),
    '{"value":{"action_name":"/a/b"}}',
    '{"action_name":"/a/b","value":{}}',
    '[]',
    '',
  ]) {
    t.is(identify(bad), null, bad);
  }
});

test('a body cut anywhere gives the whole identity or none', (t) => {
  const body = runBody({ value: '{"action_name":"/a/b"}' });
  const whole = body.indexOf(',"namespace"');
  for (let cut = 0; cut <= body.length; cut++) {
    t.is(identify(body.slice(0, cut)), cut >= whole ? '/guest/plain' : null, `${cut}`);
    // What lies behind the end in a reused buffer is never read.
    const bytes = Buffer.from(body);
    t.is(readIdentity(bytes, 0, cut)?.action ?? null, cut >= whole ? '/guest/plain' : null);
  }
});

test('a plain body and the same body with an escape have the same identity', (t) => {
  // An escape makes no difference to JSON, but such a body is read as text and not byte by byte.
  const piece = fc.oneof(
    fc.constantFrom('action_version', 'activation_id', 'deadline', 'value', 'a', '/', '1', '",'),
    fc.string({ unit: 'grapheme-ascii', maxLength: 6 }),
  );
  const text = fc.array(piece, { maxLength: 4 }).map((pieces) => JSON.stringify(pieces.join('')));
  const extra = fc.array(fc.tuple(text, text), { maxLength: 3 });
  const cut = fc.option(fc.nat({ max: 300 }));
  fc.assert(
    fc.property(extra, text, cut, fc.boolean(), (pairs, value, length, isSorted) => {
      const keys = [
        ['"action_version"', '"0.0.1"'],
        ['"activation_id"', '"0123abc"'],
        ['"deadline"', '"1700000060000"'],
        ...pairs,
      ];
      if (isSorted) keys.sort(([a], [b]) => (a! < b! ? -1 : 1));
      const rest = `${keys.map((pair) => `${pair.join(':')},`).join('')}"value":${value}}`;
      const read = (name: string): unknown => {
        const end = length === null ? rest.length : length;
        const bytes = Buffer.from(`{"action_name":"${name}",${rest.slice(0, end)}`);
        return readIdentity(bytes, 0, bytes.length);
      };
      t.deepEqual(read('/guest/plain'), read('/guest/pl\\u0061in'));
    }),
  );
});

test('a run without a deadline has deadline 0', (t) => {
  const bytes = Buffer.from(runBody().replace('"deadline":"1700000060000",', ''));
  t.is(Number(readIdentity(bytes, 0, bytes.length)?.deadline), 0);
});

test('a filter on copies takes requests on their way in, seen from the pod', (t) => {
  const dst = 'ip and tcp dst port 8080';
  t.true(captureFilter(8080, 'heads', 'any').includes(`(outbound and ${dst}`));
  t.true(captureFilter(8080, 'heads', 'pod').includes(`(inbound and ${dst}`));
  t.true(captureFilter(8080, 'heads', 'pod').includes('(outbound and ip and tcp src port 8080'));
});

test('the filter of heads tests flags before payloads, and none takes what is no port', (t) => {
  // SYN | RST, and with FIN in a pod, which has one capture.
  for (const [place, flags] of [
    ['bridge', 6],
    ['any', 6],
    ['pod', 7],
  ] as const) {
    const filter = captureFilter(8080, 'heads', place);
    const at = filter.indexOf(`tcp[13] & ${flags} != 0`);
    t.true(at >= 0 && at < filter.indexOf('0x48545450'));
  }
  t.regex(captureFilter(8080, 'closes'), /tcp\[13\] & 1 != 0/);
  for (const port of [0, 8080.5])
    for (const kind of ['heads', 'closes'] as const)
      t.throws(() => captureFilter(port, kind), { instanceOf: RangeError });
});

test('a reader held up between two clocks does not take that for a step', (t) => {
  const time = new ManualTime();
  let held = 0;
  const check = new WallClockCheck(time, () => {
    const wall = time.wall();
    time.advance(millis(held));
    return wall;
  });
  held = 20;
  t.false(check.check());
  held = 0;
  t.false(check.check());
  t.is(check.stepped, 0);
});

test('a clock set by more than 5 ms is noticed once, and stamps are moved back by it', (t) => {
  const time = new ManualTime();
  let set = 0;
  const check = new WallClockCheck(time, () => time.wall() + set);
  time.advance(millis(10_000));
  t.false(check.check());
  set = 4_000;
  t.false(check.check());
  set = 3_600_000_000;
  t.true(check.check());
  t.false(check.check());
  t.is(check.stepped, 3_600_000_000);
  set = -1_000_000;
  t.true(check.check());
  t.is(check.stepped, -1_000_000);
});

test('a time stamp from before a clock step is converted by the earlier clock', (t) => {
  const time = new ManualTime();
  let set = 0;
  const check = new WallClockCheck(time, () => time.wall() + set);
  const before = time.wall();
  time.advance(millis(1000));
  for (const step of [3_600_000_000, -7_200_000_000, 60_000_000]) {
    // Stamped just before the clock is set, and read just after.
    const late = time.wall();
    const stamp = late + set;
    set += step;
    time.advance(millis(1));
    t.true(check.check());
    t.is(check.toSteady(stamp) as number, late);
    t.is(check.toSteady(time.wall() + set) as number, time.wall());
    time.advance(millis(10_000));
  }
  t.is(check.toSteady(before) as number, before);
});

test('a clock set between process start and tap start counts as a step', (t) => {
  const time = new ManualTime();
  const check = new WallClockCheck(time, () => time.wall() - 5_000_000);
  t.false(check.check());
  t.is(check.toSteady(time.wall() - 5_000_000) as number, time.wall());
});

test('after any clock steps a time stamp is late by at most its reading delay', (t) => {
  const action = fc.record({
    // Smaller ones are not noticed.
    step: fc.oneof(
      fc.integer({ min: -4_000_000_000, max: -10_000 }),
      fc.integer({ min: 10_000, max: 4_000_000_000 }),
    ),
    wait: fc.integer({ min: 0, max: 100_000 }),
    lag: fc.integer({ min: 0, max: 200 }),
  });
  fc.assert(
    fc.property(fc.array(action, { maxLength: 8 }), (actions) => {
      const time = new ManualTime();
      let set = 0;
      const check = new WallClockCheck(time, () => time.wall() + set);
      for (const { step, wait, lag } of actions) {
        time.advance(millis(wait));
        check.check();
        const truth = time.wall();
        const stamp = truth + set;
        set += step;
        time.advance(millis(lag));
        check.check();
        const read = check.toSteady(stamp);
        if (read < truth - 1 || read > time.wall()) return false;
      }
      return true;
    }),
  );
  t.pass();
});
