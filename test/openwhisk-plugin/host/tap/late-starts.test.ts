import { createServer, type Server } from 'node:net';
import test from 'ava';
import type { Micros } from '../../../../config/index.js';
import { addressOf } from '../../../../openwhisk-plugin/host/ports/index.js';
import {
  OpenConnections,
  socketsIn,
} from '../../../../openwhisk-plugin/host/tap/open-connections.js';
import { dial } from './bridge.js';
import {
  answerOf,
  CONTAINER,
  type Conversation,
  headOf,
  Recorder,
  runBody,
  runRequest,
  Wire,
} from './packets.js';

const BODY = runBody();
const STARTED = `run /guest/plain ${BODY.length}`;
/** Of a function that only a forger names. */
const FORGED = runRequest(runBody({ action: '/victim/f' }));

const lateWire = (options = {}): Wire => new Wire(options, new Recorder(), true);

/** A head whose body is under way, and what of it follows is a forged head. */
function beginBody(call: Conversation): void {
  const body = runBody({ value: `"${FORGED}"` });
  call.split(
    headOf('/run', body) + body.slice(0, body.indexOf(FORGED)),
    headOf('/run', body).length,
  );
}

test('the first head of a connection is told before its SYN-ACK comes, which proves it', (t) => {
  const wire = lateWire();
  wire.listen();
  const call = wire.connect(40000);
  call.send(runRequest(BODY));
  t.deepEqual(wire.recorder.take(), [STARTED]);
  wire.deliver();
  call.answer(answerOf());
  call.send(runRequest(BODY));
  call.answer(answerOf());
  t.deepEqual(wire.recorder.take(), ['answer 200', STARTED, 'answer 200']);
  t.is(wire.recorder.counts.size, 0);
});

test('a SYN-ACK that waits for its first head trusts the connection before it', (t) => {
  const wire = lateWire();
  const call = wire.connect(40000);
  wire.deliver();
  call.send(runRequest(BODY));
  t.deepEqual(wire.recorder.take(), [STARTED]);
});

test('a SYN-ACK that begins elsewhere ends the activation', (t) => {
  const wire = lateWire();
  wire.listen();
  const call = wire.connect(40000);
  call.sent += 5000;
  call.send(runRequest(BODY));
  t.deepEqual(wire.recorder.take(), [STARTED]);
  wire.deliver();
  t.deepEqual(wire.recorder.take(), ['reset']);
  t.is(wire.recorder.count('unexpected_sequence'), 1);
});

test('no request to a container counts before its open connections are known', (t) => {
  const wire = lateWire();
  wire.connections.seen(1, wire.at);
  const early = wire.connect(40000);
  early.send(runRequest(BODY));
  t.deepEqual(wire.recorder.take(), []);
  wire.listen();
  wire.connect(40001).send(runRequest(BODY));
  t.deepEqual(wire.recorder.take(), [STARTED]);
  // The one that began meanwhile is known from its SYN-ACK on.
  wire.deliver();
  early.answer(answerOf());
  early.send(runRequest(BODY));
  t.deepEqual(wire.recorder.take(), [STARTED]);
});

test('a forged head on a connection that was open never counts, until a SYN-ACK', (t) => {
  const wire = lateWire();
  wire.listen(40000);
  wire.connect(40000, { seen: false }).send(FORGED);
  wire.connect(40001).send(runRequest(BODY));
  t.deepEqual(wire.recorder.take(), [STARTED]);
  const next = wire.connect(40000, { isn: 5 });
  wire.deliver();
  next.send(runRequest(BODY));
  t.deepEqual(wire.recorder.take(), ['reset', STARTED]);
});

test('after the longest request no body of an open connection can be under way', (t) => {
  const wire = lateWire();
  wire.listen(40000);
  wire.at += 660_000_010;
  wire.connect(40000).send(runRequest(BODY));
  t.deepEqual(wire.recorder.take(), [STARTED]);
});

test('a forged head behind the end of its connection never counts', (t) => {
  for (const end of ['rst', 'fin'] as const)
    for (const isAnswered of [false, true]) {
      const wire = lateWire();
      wire.listen();
      const call = wire.connect(40000);
      const before = call.sent;
      beginBody(call);
      // An answer to a part of the body: it acknowledges the head alone.
      const after = call.sent;
      if (isAnswered) {
        call.sent = before + 10;
        call.answer(answerOf(400));
        call.sent = after;
      }
      call[end]();
      wire.recorder.take();
      call.send(FORGED);
      t.deepEqual(wire.recorder.take(), [], `${end} ${isAnswered}`);
    }
});

test('a forged head on a connection that was forgotten never counts', (t) => {
  const wire = lateWire({ capacity: 2 });
  wire.listen();
  const call = wire.connect(40000);
  beginBody(call);
  for (const port of [1, 2]) wire.connect(port).send(runRequest(BODY));
  t.is(wire.recorder.count('connection_evicted'), 1);
  wire.recorder.take();
  call.send(FORGED);
  // Of another one, in whose place this is watched.
  t.deepEqual(wire.recorder.take(), ['reset']);
  // More than are remembered: for the longest request nothing is told that no SYN-ACK proves.
  for (const port of [3, 4, 5]) beginBody(wire.connect(port));
  wire.recorder.take();
  wire.connect(6).send(runRequest(BODY));
  t.false(wire.recorder.take().includes(STARTED));
});

test('a port can be used again when its last answer was to a whole body', (t) => {
  const wire = lateWire();
  wire.listen();
  for (const isn of [5, 1_000_000, 77]) {
    const call = wire.connect(40000, { isn });
    call.send(runRequest(BODY));
    call.answer(answerOf());
    call.fin();
    t.deepEqual(wire.recorder.take(), [STARTED, 'answer 200', 'closed']);
  }
});

test('after lost packets nothing is told until the connections are known again', (t) => {
  const wire = lateWire();
  wire.listen();
  wire.connections.distrust(1);
  wire.connect(40000).send(runRequest(BODY));
  t.deepEqual(wire.recorder.take(), []);
  // A second bridge that listens makes the first one no better.
  wire.connections.seen(2, wire.at);
  wire.connections.known(CONTAINER, wire.at, []);
  wire.connect(40001).send(runRequest(BODY));
  t.deepEqual(wire.recorder.take(), []);
  wire.listen();
  wire.connect(40002).send(runRequest(BODY));
  t.deepEqual(wire.recorder.take(), [STARTED]);
});

test('a request before its container’s start is told counts in a newer container', (t) => {
  for (const [age, told] of [
    [-1, [STARTED]],
    [100, []],
  ] as const) {
    const wire = lateWire();
    wire.connections.unbind(CONTAINER);
    wire.connections.seen(1, wire.at);
    const startedAt = wire.at - age;
    wire.connect(40000).send(runRequest(BODY));
    t.deepEqual(wire.recorder.take(), []);
    wire.connections.bind(CONTAINER, startedAt);
    t.deepEqual(wire.recorder.take(), told);
  }
});

test('a connection without an address of its own bridge is not believed', (t) => {
  const wire = lateWire({ longestRequest: 1000 as Micros });
  wire.connect(40000).send(runRequest(BODY));
  t.deepEqual(wire.recorder.take(), []);
});

// Two lines of a kernel's /proc/net/tcp and tcp6, as documented in
// https://docs.kernel.org/networking/proc_net_tcp.html: 0100007F is 127.0.0.1 in the order of a
// little-endian host.
const LINES = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1
   1: 0100007F:1F90 0200A8C0:9C40 01 00000000:00000000 00:00000000 00000000     0        0 2
   2: 0100007F:1F90 0200A8C0:9C41 06 00000000:00000000 00:00000000 00000000     0        0 3
  46: 0000000000000000FFFF00000100007F:1F90 0000000000000000FFFF00000200A8C0:9C42 04 0:0 0:0 0
  47: 00000000000000000000000001000000:1F90 00000000000000000000000001000000:9C43 01 0:0 0:0 0
`;

test('open connections are read from the lines of the kernel', (t) => {
  const address = addressOf('127.0.0.1');
  const client = addressOf('192.168.0.2');
  // 9C40 is 40000; a listener and a connection in TIME_WAIT get no more bytes.
  t.deepEqual(socketsIn(LINES, true), [
    { address, port: 8080, peer: { address: client, port: 40000 } },
    { address, port: 8080, peer: { address: client, port: 40002 } },
  ]);
  const big = LINES.replaceAll('0100007F', '7F000001').replaceAll('0200A8C0', 'C0A80002');
  t.deepEqual(socketsIn(big, false), socketsIn(LINES, true));
});

test('a connection to this process is found, and none of a process that is gone', async (t) => {
  const server: Server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const socket = await dial('127.0.0.1', port);
  const open = new OpenConnections();
  const address = addressOf('127.0.0.1');
  const peers = await open.of(process.pid, address, port);
  t.deepEqual(peers, [{ address, port: socket.localPort! }]);
  t.is(await open.of(2 ** 22 + 1, address, port), null);
  socket.destroy();
  server.close();
});
