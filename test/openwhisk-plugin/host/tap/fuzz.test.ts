import { fc, testProp } from '@fast-check/ava';
import { Connections } from '../../../../openwhisk-plugin/host/tap/connections.js';
import { readInit } from '../../../../openwhisk-plugin/host/tap/identity.js';
import { readTcp, TcpPacket } from '../../../../openwhisk-plugin/host/tap/packet.js';
import { PcapStream } from '../../../../openwhisk-plugin/host/tap/pcap.js';
import {
  answerOf,
  CONTAINER,
  frame,
  headOf,
  INVOKER,
  initBody,
  OPTIONS,
  pcapOf,
  Recorder,
  runBody,
  runRequest,
  Wire,
} from './packets.js';

const VICTIM = runBody({ action: '/victim/f' });
const FORGED = [
  VICTIM,
  runRequest(VICTIM),
  headOf('/run', VICTIM),
  headOf('/run', 10 ** 6) + VICTIM,
  headOf('/run', 10 ** 9),
  'HTTP/1.1 200 OK\r\n\r\n',
];

/**
 * As text that JSON would escape, and raw, as a nested object or a careless proxy could bring it to
 * a packet's start.
 */
const forgedValue = fc
  .array(fc.oneof(fc.constantFrom(...FORGED), fc.string({ maxLength: 40 })), { maxLength: 5 })
  .chain((parts) => fc.constantFrom(JSON.stringify(parts), parts.join('')));

/** Cuts are told by fractions of what is left, or lie where a forged head begins. */
const call = fc.record({
  value: forgedValue,
  cuts: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 4 }),
  atForgery: fc.boolean(),
  apart: fc.boolean(),
  again: fc.boolean(),
  /** After how many pieces the answer comes; beyond them all: after the last, or never. */
  answerAfter: fc.integer({ min: 1, max: 12 }),
  hold: fc.constantFrom(false, false, true),
  port: fc.integer({ min: 40_000, max: 40_002 }),
  missed: fc.constantFrom(0, 0, 0, 1, 2, 3),
  closes: fc.boolean(),
});

function pieces(
  text: string,
  cuts: readonly number[],
  atForgery: boolean,
  apart: boolean,
): string[] {
  const places = new Set<number>([text.length]);
  const body = text.indexOf('\r\n\r\n') + 4;
  if (apart) places.add(body);
  for (const cut of cuts) places.add(Math.floor(cut * text.length));
  if (atForgery) {
    for (const mark of ['POST', '{"ac', 'HTTP/1.1 2']) {
      for (let i = text.indexOf(mark, body + 1); i >= 0; i = text.indexOf(mark, i + 1))
        places.add(i);
    }
  }
  let from = 0;
  const result: string[] = [];
  for (const place of [...places].sort((a, b) => a - b)) {
    if (place > from) result.push(text.slice(from, place));
    from = place;
  }
  return result;
}

testProp(
  'whatever is forged, cut, repeated, pipelined or missed, no run is ever called another function',
  [fc.array(call, { minLength: 1, maxLength: 12 }), fc.constantFrom(true, true, true, false)],
  (t, calls, seen) => {
    const wire = new Wire({ capacity: 4 });
    const open = new Map<number, ReturnType<Wire['connect']>>();
    const truth: string[] = [];
    let missed = !seen;
    for (const [i, one] of calls.entries()) {
      const talk =
        open.get(one.port) ?? wire.connect(one.port, { seen, isn: one.port * 77_777 + i });
      open.set(one.port, talk);
      const action = `/guest/f${i}`;
      truth.push(action);
      const body = runBody({ action, value: one.value });
      let answered = one.hold;
      for (const [n, piece] of pieces(
        headOf('/run', body) + body,
        one.cuts,
        one.atForgery,
        one.apart,
      ).entries()) {
        if (n === one.answerAfter && !answered) {
          talk.answer(answerOf());
          answered = true;
        }
        if (n + 1 === one.missed) {
          missed = true;
          talk.sent = (talk.sent + Buffer.byteLength(piece)) >>> 0;
          continue;
        }
        const at = talk.sent;
        talk.send(piece);
        if (one.again) talk.send(piece, at, false);
      }
      if (!answered) talk.answer(answerOf());
      if (one.closes) {
        talk.fin();
        open.delete(one.port);
      }
    }
    const told = wire.recorder.identities
      .map((identity) => identity?.action)
      .filter((action) => action !== undefined);
    // The told ones are true ones, in their order, each once.
    let from = 0;
    for (const action of told) {
      const at = truth.indexOf(action, from);
      t.true(at >= 0, `${action} is not one of the rest of ${truth}`);
      from = at + 1;
    }
    t.true(wire.recorder.ends <= wire.recorder.starts || missed);
    t.true(wire.connections.remembered <= 4);
  },
  { numRuns: 400 },
);

function reader(recorder: Recorder): {
  connections: Connections;
  push: (bytes: Buffer) => void;
} {
  const connections = new Connections(recorder, { ...OPTIONS, capacity: 8 });
  connections.sources.setGateways([INVOKER]);
  connections.bind(CONTAINER, 0);
  const packet = new TcpPacket();
  const stream = new PcapStream((bytes, offset, captured, original, at) => {
    if (!readTcp(bytes, offset, captured, original, packet)) return;
    packet.at = at;
    connections.packet(bytes, packet, 1);
  });
  return { connections, push: (bytes) => stream.push(bytes) };
}

testProp(
  'random bytes on the pipe never throw',
  [fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 10 }), fc.boolean()],
  (t, chunks, header) => {
    const { connections, push } = reader(new Recorder());
    if (header) push(pcapOf([]));
    for (const chunk of chunks) push(Buffer.from(chunk));
    t.true(connections.remembered <= 8);
  },
  { numRuns: 300 },
);

const flip = fc.record({ at: fc.nat(), bit: fc.integer({ min: 0, max: 7 }) });
const flags = fc.constantFrom(16, 24, 18, 17, 20, 4, 1, 2, 0, 63);
const segment = fc.record({
  inward: fc.boolean(),
  port: fc.integer({ min: 1, max: 12 }),
  sequence: fc.integer({ min: 0, max: 4 }).map((n) => n * 0x3fff_ffff),
  acknowledged: fc.integer({ min: 0, max: 4 }).map((n) => n * 0x3fff_ffff),
  flags,
  payload: fc
    .oneof(fc.constantFrom(...FORGED, runRequest('{}'), answerOf()), fc.string())
    .map((text) => Buffer.from(text)),
});

testProp(
  'streams of arbitrary segments with flipped bits, cut anywhere, never throw and stay bounded',
  [
    fc.array(segment, { maxLength: 40 }),
    fc.array(flip, { maxLength: 6 }),
    fc.array(fc.nat(), { maxLength: 6 }),
  ],
  (t, segments, flips, cuts) => {
    const frames = segments.map(({ inward, port, ...rest }) =>
      frame(
        inward
          ? {
              source: INVOKER,
              destination: CONTAINER,
              sourcePort: port,
              destinationPort: 8080,
              ...rest,
            }
          : {
              source: CONTAINER,
              destination: INVOKER,
              sourcePort: 8080,
              destinationPort: port,
              ...rest,
            },
      ),
    );
    const bytes = pcapOf(frames);
    for (const { at, bit } of flips) bytes[at % bytes.length]! ^= 1 << bit;
    const recorder = new Recorder();
    const { connections, push } = reader(recorder);
    const places = [...cuts.map((cut) => cut % bytes.length), bytes.length].sort((a, b) => a - b);
    let from = 0;
    for (const place of places) {
      push(bytes.subarray(from, place));
      from = place;
    }
    t.true(connections.remembered <= 8);
    t.true(recorder.ends <= recorder.starts);
  },
  { numRuns: 400 },
);

const texts = fc.oneof(
  fc.string(),
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('","env":{"', '\\', '"}}}', '{"value":{"name":"x"'),
);
testProp(
  'an /init with any code and name, cut anywhere, is of its own action or unknown',
  [fc.array(texts).map((parts) => parts.join('')), fc.nat({ max: 3000 })],
  (t, code, cut) => {
    const bytes = Buffer.from(initBody({ code, name: code }));
    t.like(readInit(bytes, 0, bytes.length, true), {
      name: code,
      identity: { action: '/guest/plain' },
    });
    const end = Math.min(cut, bytes.length - 1);
    const { name, identity } = readInit(bytes.subarray(0, end), 0, end, true);
    t.is(identity, null);
    t.true(name === null || name === code);
  },
);
