import test from 'ava';
import { answerOf, headOf, runBody, runRequest, Wire } from './packets.js';

const PLAIN = 'run /guest/plain';

test('a forged head or identity in the value never counts, at any packet offset', (t) => {
  const forgedBody = runBody({ action: '/victim/f' });
  const forged = [forgedBody, runRequest(forgedBody), headOf('/run', forgedBody)];
  for (const fake of forged) {
    for (let padding = 0; padding < 1500; padding += padding < 64 ? 1 : 37) {
      const wire = new Wire();
      const call = wire.connect(40000);
      const body = runBody({ value: `"${'p'.repeat(padding)}${fake}"` });
      const head = headOf('/run', body);
      const at = body.indexOf(fake);
      call.split(head + body, head.length, at, fake.length);
      call.answer(answerOf());
      t.deepEqual(wire.recorder.take(), [`${PLAIN} ${body.length}`, 'answer 200']);
      // The next call on the connection is unharmed.
      call.send(runRequest(runBody()));
      t.deepEqual(wire.recorder.take(), [`${PLAIN} ${runBody().length}`]);
    }
  }
});

test('a forged body start behind a cut run is unknown, not the victim’s', (t) => {
  const fake = runBody({ action: '/victim/f' });
  const wire = new Wire();
  const call = wire.connect(40000);
  const body = runBody({ value: `"${fake}"` });
  const head = headOf('/run', body);
  // Two bytes of the body travel alone, so that its first packet does not pass the filter.
  call.split(head + body, head.length, 2, body.indexOf(fake) - 2);
  call.answer(answerOf());
  t.deepEqual(wire.recorder.take(), [`run unknown ${body.length}`, 'answer 200']);
});

test('a head cut anywhere gives the right identity or none', (t) => {
  const body = runBody();
  const whole = runRequest(body);
  for (let cut = 1; cut < whole.length; cut++) {
    const wire = new Wire();
    const call = wire.connect(40000);
    call.split(whole, cut);
    call.answer(answerOf());
    call.fin();
    const actions = wire.recorder.identities.map((identity) => identity?.action ?? 'unknown');
    t.true(
      actions.every((action) => action === '/guest/plain' || action === 'unknown'),
      `${cut}: ${actions}`,
    );
    t.is(wire.recorder.ends, wire.recorder.starts);
    if (cut === headOf('/run', body).length) t.deepEqual(actions, ['/guest/plain']);
  }
});

test('a forged header or path does not make an identity', (t) => {
  const wire = new Wire();
  const call = wire.connect(40000);
  call.send(headOf('/run', 0, `X: ${runBody({ action: '/victim/f' })}\r\n`));
  t.deepEqual(wire.recorder.take(), ['run unknown 0']);
});
