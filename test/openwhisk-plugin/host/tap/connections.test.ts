import test from 'ava';
import { addressOf } from '../../../../openwhisk-plugin/host/ports/index.js';
import { rangeOf } from '../../../../openwhisk-plugin/host/tap/sources.js';
import {
  answerOf,
  BEGIN,
  CONTAINER,
  headOf,
  initBody,
  initRequest,
  Recorder,
  runBody,
  runRequest,
  Wire,
} from './packets.js';

const PLAIN = 'run /guest/plain';

test('a small run in one packet is told with its identity, its answer and its close', (t) => {
  const wire = new Wire();
  const body = runBody();
  const call = wire.connect(40000);
  call.send(runRequest(body));
  t.deepEqual(wire.recorder.take(), [`${PLAIN} ${body.length}`]);
  // Fields of runBody; deadline 1700000060000 ms.
  t.deepEqual(wire.recorder.identities[0], {
    action: '/guest/plain',
    version: '0.0.1',
    activationId: '0123456789abcdef0123456789abcdef',
    deadline: 1_700_000_060_000_000 as never,
  });
  call.answer(answerOf(200));
  call.fin();
  t.deepEqual(wire.recorder.take(), ['answer 200', 'closed']);
  t.is(wire.recorder.counts.size, 0);
  t.is(wire.connections.remembered, 0);
});

test('head and body in separate packets give one start, when the body comes', (t) => {
  const wire = new Wire();
  const body = runBody({ value: JSON.stringify({ x: 'y'.repeat(100_000) }) });
  const call = wire.connect(40000);
  call.send(headOf('/run', body));
  t.deepEqual(wire.recorder.take(), []);
  call.split(body, 16_000, 1448, 50_000);
  t.deepEqual(wire.recorder.take(), [`${PLAIN} ${body.length}`]);
  call.answer(answerOf(502));
  t.deepEqual(wire.recorder.take(), ['answer 502']);
});

test('kept-alive calls are each told, past the wrap of the sequence numbers', (t) => {
  const wire = new Wire();
  const call = wire.connect(40000, { isn: 2 ** 32 - 700 });
  for (let i = 0; i < 20; i++) {
    const body = runBody({ action: `/guest/f${i}`, value: `"${'z'.repeat(i * 300)}"` });
    if (i % 2 === 0) call.split(headOf('/run', body) + body, headOf('/run', body).length);
    else call.send(runRequest(body));
    call.answer(answerOf(200, 'a'.repeat(i * 100)));
    t.deepEqual(wire.recorder.take(), [`run /guest/f${i} ${body.length}`, 'answer 200']);
  }
  t.is(wire.recorder.counts.size, 0);
});

test('an /init whose whole body was captured tells whose activation it is', (t) => {
  const wire = new Wire();
  const body = initBody({ action: '/guest/my pkg/a "b" é', name: 'a "b" é' });
  wire.connect(1).send(initRequest(body));
  // Head and body in two packets, as Apache's client sends larger ones.
  wire.connect(2).split(initRequest(body), headOf('/init', body).length);
  const told = `init /guest/my pkg/a "b" é ${Buffer.byteLength(body)}`;
  t.deepEqual(wire.recorder.take(), [told, told]);
  for (const identity of wire.recorder.identities)
    t.deepEqual(identity, {
      action: '/guest/my pkg/a "b" é',
      version: '0.0.1',
      activationId: '0123456789abcdef0123456789abcdef',
      deadline: 1_700_000_060_000_000 as never,
    });
});

test('an /init with more code than is captured has an action name and no activation', (t) => {
  const wire = new Wire();
  const body = initBody({ code: 'x'.repeat(60_000) });
  wire.connect(1).split(initRequest(body), 30_000);
  wire.connect(2).split(initRequest(body), headOf('/init', body).length, 30_000);
  t.deepEqual(wire.recorder.take(), Array(2).fill(`init unknown ${body.length}`));
  t.deepEqual(wire.recorder.initNames, ['plain', 'plain']);
});

test('code and parameters of an /init cannot pass for its environment', (t) => {
  const forged =
    '","env":{"__OW_ACTION_NAME":"/evil/other","__OW_ACTION_VERSION":"9",' +
    '"__OW_ACTIVATION_ID":"f","__OW_DEADLINE":"1"}}}';
  for (const [body, action] of [
    [initBody({ code: forged }), '/guest/plain'],
    [initBody({ code: `\\${forged}\\` }), '/guest/plain'],
    // Not as OpenWhisk writes it: unknown, whatever it says.
    [initBody().replace('"env":{', '"other":{'), 'unknown'],
    [initBody().replace('"__OW_NAMESPACE":"guest"', '"__OW_NAMESPACE":{"a":"b"}'), 'unknown'],
    [`${initBody().slice(0, -1)} }`, 'unknown'],
    [`${initBody()}{}`, 'unknown'],
    ['{"value":{}}', 'unknown'],
    ['{"value":{"code":"x"}}', 'unknown'],
    ['{"value":', 'unknown'],
  ] as const) {
    const wire = new Wire();
    wire.connect(1).send(initRequest(body));
    t.deepEqual(wire.recorder.take(), [`init ${action} ${Buffer.byteLength(body)}`], body);
  }
});

test('other paths are told as other', (t) => {
  const wire = new Wire();
  wire.connect(40000).send(headOf('/runs', 0));
  t.deepEqual(wire.recorder.take(), ['other unknown 0']);
});

test('several heads in one packet make the connection unknown until it closes', (t) => {
  const wire = new Wire();
  const call = wire.connect(40000);
  call.send(runRequest(runBody()) + runRequest(runBody({ action: '/guest/b' })));
  call.answer(answerOf() + answerOf());
  call.send(runRequest(runBody()));
  t.deepEqual(wire.recorder.take(), []);
  t.is(wire.recorder.count('pipelined'), 1);
  call.fin();
  t.deepEqual(wire.recorder.take(), ['closed']);
  const next = wire.connect(40000, { isn: 5 });
  next.send(runRequest(runBody()));
  t.is(wire.recorder.take().length, 1);
});

test('a second head before the first answer makes the connection unknown', (t) => {
  const wire = new Wire();
  const call = wire.connect(40000);
  call.send(runRequest(runBody()));
  call.send(runRequest(runBody({ action: '/guest/b' })));
  call.answer(answerOf());
  call.answer(answerOf());
  t.deepEqual(wire.recorder.take(), [`${PLAIN} ${runBody().length}`, 'answer 200']);
  t.is(wire.recorder.count('pipelined'), 1);
});

test('copies of heads, bodies and answers are dropped and counted', (t) => {
  const wire = new Wire();
  const call = wire.connect(40000);
  const body = runBody();
  const head = headOf('/run', body);
  const start = call.sent;
  call.synAck();
  call.send(head);
  call.send(head, start, false);
  call.send(body);
  call.send(body, start + head.length, false);
  call.send(head + body, start, false);
  call.answer(answerOf());
  call.answerAgain(answerOf());
  call.send(head, start, false);
  t.deepEqual(wire.recorder.take(), [`${PLAIN} ${body.length}`, 'answer 200']);
  t.is(wire.recorder.count('retransmission'), 4);
});

test('100 Continue is no answer, alone or before the final one in its packet', (t) => {
  const wire = new Wire();
  const body = runBody();
  const call = wire.connect(40000);
  call.send(headOf('/run', body, 'Expect: 100-continue\r\n'));
  call.answer('HTTP/1.1 100 Continue\r\n\r\n');
  call.send(body);
  call.answer(answerOf(200));
  t.deepEqual(wire.recorder.take(), [`${PLAIN} ${body.length}`, 'answer 200']);
  call.send(runRequest(body));
  call.answer(`HTTP/1.1 103 Early\r\nX: y\r\n\r\n${answerOf(201)}`);
  t.deepEqual(wire.recorder.take(), [`${PLAIN} ${body.length}`, 'answer 201']);
});

test('HTTP at the start of a packet inside an answer is body', (t) => {
  const wire = new Wire();
  const call = wire.connect(40000);
  call.send(runRequest(runBody()));
  call.answer('HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n');
  call.answer(answerOf(500));
  call.answer(answerOf(404));
  t.deepEqual(wire.recorder.take(), [`${PLAIN} ${runBody().length}`, 'answer 200']);
  call.send(runRequest(runBody()));
  call.answer(answerOf(202));
  t.deepEqual(wire.recorder.take(), [`${PLAIN} ${runBody().length}`, 'answer 202']);
});

test('an answer whose head is cut ends with the next request of the connection', (t) => {
  const wire = new Wire();
  const call = wire.connect(40000);
  call.send(runRequest(runBody()));
  call.answer('HTTP/1.');
  call.answer('1 200 OK\r\n\r\n');
  t.is(wire.recorder.count('unreadable_head'), 1);
  call.send(runRequest(runBody({ action: '/guest/b' })));
  call.answer(answerOf(203));
  t.deepEqual(wire.recorder.told.slice(1), [
    `run /guest/b ${runBody({ action: '/guest/b' }).length}`,
    'answer 203',
  ]);
});

test('an answer and FIN in one packet end and then close', (t) => {
  const wire = new Wire();
  const call = wire.connect(40000);
  call.send(runRequest(runBody()));
  call.answer(answerOf(200), 1);
  t.deepEqual(wire.recorder.told.slice(1), ['answer 200', 'closed']);
});

test('a container that dies mid-run closes or resets; one that does not listen is nothing', (t) => {
  const wire = new Wire();
  wire.connect(40001, { seen: false }).rst();
  t.deepEqual(wire.recorder.take(), []);
  const call = wire.connect(40000);
  call.send(headOf('/run', runBody()));
  call.rst();
  t.deepEqual(wire.recorder.take(), [`run unknown ${runBody().length}`, 'reset']);
});

test('a late close ends a request without an answer once later packets were read', (t) => {
  const wire = new Wire();
  const call = wire.connect(40000);
  call.send(runRequest(runBody()));
  wire.recorder.take();
  call.lateFin(wire.at + 10);
  t.deepEqual(wire.recorder.take(), []);
  // Stamps within a millisecond may be out of order.
  wire.at += 2000;
  wire.connect(40001);
  wire.connections.settle(wire.at);
  t.deepEqual(wire.recorder.take(), ['closed']);
});

test('a close that is read before the answer from before it leaves the answer', (t) => {
  const wire = new Wire();
  const call = wire.connect(40000);
  call.send(runRequest(runBody()));
  wire.recorder.take();
  const at = wire.at + 100;
  call.lateFin(at);
  wire.connections.settle(at + 900_000);
  call.answer(answerOf());
  t.deepEqual(wire.recorder.take(), ['answer 200']);
  wire.connections.settle(at + 1_000_001);
  t.deepEqual(wire.recorder.take(), ['closed']);
  t.is(wire.connections.remembered, 0);
});

test('a late close of an earlier connection on the same port ends nothing', (t) => {
  const wire = new Wire();
  const earlier = wire.connect(40000);
  earlier.send(runRequest(runBody()));
  earlier.answer(answerOf());
  const at = wire.at + 5;
  const next = wire.connect(40000, { isn: 7 });
  next.send(runRequest(runBody()));
  wire.recorder.take();
  next.lateFin(at);
  wire.connections.settle(at + 1_000_001);
  t.deepEqual(wire.recorder.take(), []);
  t.is(wire.connections.remembered, 1);
});

test('repeated lengths and codings end the trust in a connection', (t) => {
  for (const header of [
    'Content-Length: 3\r\n',
    'Transfer-Encoding: chunked\r\n',
    'TRANSFER-encoding: gzip\r\n',
  ]) {
    const wire = new Wire();
    const call = wire.connect(40000);
    call.send(headOf('/run', runBody(), header) + runBody());
    call.answer(answerOf());
    call.send(runRequest(runBody()));
    t.is(wire.recorder.starts, 1);
    t.is(wire.recorder.identities[0], null);
    t.is(wire.recorder.ends, 1);
  }
});

test('an unknown source is counted and ignored; an action container is never learned', (t) => {
  const wire = new Wire();
  const neighbor = addressOf('172.17.0.9');
  wire.connections.bind(neighbor, BEGIN - 1);
  const call = wire.connect(40000, { from: neighbor });
  call.send(runRequest(runBody({ action: '/victim/f' })));
  call.answer(answerOf());
  t.deepEqual(wire.recorder.take(), []);
  t.is(wire.recorder.count('unknown_source'), 2);
});

test('an invoker in a container is learned from its first run unless configured', (t) => {
  const invoker = addressOf('172.17.0.3');
  const wire = new Wire();
  wire.connect(40000, { from: invoker }).send(headOf('/hello', 0));
  t.deepEqual(wire.recorder.take(), []);
  wire.connect(40001, { from: invoker }).send(runRequest(runBody()));
  t.is(wire.recorder.take().length, 1);
  wire.connect(40002, { from: invoker }).send(headOf('/hello', 0));
  t.deepEqual(wire.recorder.take(), ['other unknown 0']);
  const strict = new Wire({ invokers: [rangeOf('172.17.0.8')] });
  strict.connect(40000, { from: invoker }).send(runRequest(runBody()));
  t.deepEqual(strict.recorder.take(), []);
  t.is(strict.recorder.count('unknown_source'), 2);
});

test('an address handed on counts for its new owner only with connections younger than it', (t) => {
  const wire = new Wire();
  const old = wire.connect(40000);
  old.send(runRequest(runBody()));
  wire.connections.unbind(CONTAINER);
  wire.recorder.take();
  wire.connections.bind(CONTAINER, wire.at + 1);
  old.answer(answerOf());
  old.send(runRequest(runBody()));
  old.rst();
  t.deepEqual(wire.recorder.take(), []);
  const young = wire.connect(40001);
  young.send(runRequest(runBody({ action: '/guest/b' })));
  t.is(wire.recorder.identities.at(-1)?.action, '/guest/b');
});

test('a call that came before its container was announced is told when it is', (t) => {
  const recorder = new Recorder();
  const wire = new Wire({}, recorder);
  const late = addressOf('172.17.0.7');
  const call = wire.connect(40000, { to: late });
  call.send(runRequest(runBody()));
  t.deepEqual(recorder.take(), []);
  wire.connections.bind(late, BEGIN);
  t.deepEqual(recorder.take(), [`${PLAIN} ${runBody().length}`]);
  call.answer(answerOf());
  t.deepEqual(recorder.take(), ['answer 200']);
});

test('a connection whose start was missed is unknown until enough heads followed', (t) => {
  const wire = new Wire({ longestRequest: 1000 as never });
  const call = wire.connect(40000, { seen: false });
  // A forged request inside the body that was under way when the tap came.
  call.send(runRequest(runBody({ action: '/victim/f' })));
  call.send('rest');
  for (let i = 0; i < 3; i++) {
    call.send(runRequest(runBody()));
    call.answer(answerOf());
  }
  t.deepEqual(wire.recorder.take(), []);
  wire.at += 1001;
  call.send(runRequest(runBody()));
  call.answer(answerOf());
  t.deepEqual(wire.recorder.take(), [`${PLAIN} ${runBody().length}`, 'answer 200']);
});

test('a missed head makes the next ones unknown until the port is reused', (t) => {
  const wire = new Wire();
  const call = wire.connect(40000);
  call.sent = (call.sent + 321) >>> 0;
  call.send(runRequest(runBody()));
  t.deepEqual(wire.recorder.take(), []);
  t.is(wire.recorder.count('unexpected_sequence'), 1);
  const again = wire.connect(40000, { isn: 99 });
  again.send(runRequest(runBody()));
  t.deepEqual(wire.recorder.take(), ['reset', `${PLAIN} ${runBody().length}`]);
});

test('memory is bounded: the least recently used connection is ended and counted', (t) => {
  const wire = new Wire({ capacity: 8 });
  for (let port = 1; port <= 20; port++) wire.connect(40000 + port).send(runRequest(runBody()));
  t.is(wire.connections.remembered, 8);
  t.is(wire.recorder.count('connection_evicted'), 12);
  t.is(wire.recorder.take().filter((line) => line === 'reset').length, 12);
});

test('after a loss nothing on that bridge is trusted, and the others are', (t) => {
  const wire = new Wire();
  const call = wire.connect(40000);
  call.send(runRequest(runBody()));
  wire.connections.distrust(2);
  t.is(wire.connections.remembered, 1);
  wire.connections.distrust(1);
  call.answer(answerOf());
  call.send(runRequest(runBody()));
  t.is(wire.recorder.starts, 1);
  t.is(wire.recorder.ends, 0);
});

test('nothing is kept of a bridge that is captured no more', (t) => {
  const wire = new Wire();
  wire.connect(40000).send(runRequest(runBody()));
  t.is(wire.connections.captures, 1);
  wire.connections.forget(1);
  t.is(wire.connections.captures, 0);
  t.is(wire.connections.remembered, 0);
});

test('fifty parallel calls to one container each end once', (t) => {
  const wire = new Wire();
  const calls = Array.from({ length: 50 }, (_, i) => wire.connect(41000 + i, { isn: i * 1e7 }));
  for (const [i, call] of calls.entries())
    call.send(runRequest(runBody({ action: `/guest/f${i}` })));
  for (const call of calls) call.answer(answerOf());
  for (const call of calls) call.fin();
  t.is(wire.recorder.starts, 50);
  t.is(wire.recorder.ends, 50);
  t.is(new Set(wire.recorder.identities.map((identity) => identity?.action)).size, 50);
});
