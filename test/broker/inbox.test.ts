import test from 'ava';
import { SequenceGuard } from '../../broker/inbox.js';
import { Inbox } from '../../broker/index.js';
import type { Decode } from '../../broker/messages/index.js';
import { millis } from '../../config/index.js';

test('the least recently seen sender is forgotten when there are too many', (t) => {
  const guard = new SequenceGuard(2);
  guard.check({ sender: 'a', boot: 'x', sequence: 5 });
  guard.check({ sender: 'b', boot: 'x', sequence: 5 });
  guard.check({ sender: 'a', boot: 'x', sequence: 6 });
  guard.check({ sender: 'c', boot: 'x', sequence: 1 });
  t.is(guard.check({ sender: 'a', boot: 'x', sequence: 6 }), 'repeated');
  t.is(guard.check({ sender: 'b', boot: 'x', sequence: 1 }), null);
});

test('an inbox counts by kind and reports each kind once a minute', (t) => {
  const told: string[] = [];
  const decode: Decode<{ n: number }> = (data) =>
    data.byteLength === 0
      ? { ok: false, kind: 'malformed', detail: 'empty' }
      : { ok: true, message: { n: data[0]! } };
  const inbox = new Inbox({
    decode,
    stamp: ({ n }) => ({ sender: 's', boot: 'b', sequence: n }),
    refused: (kind, _, count) => told.push(`${kind} ${count}`),
  });
  const take = (bytes: number[], now: number) => inbox.take(Uint8Array.from(bytes), millis(now));
  t.deepEqual(take([3], 0), { n: 3 });
  t.is(take([3], 1), null);
  t.is(take([2], 2), null);
  t.is(take([], 3), null);
  t.is(take([], 4), null);
  t.is(take([], 60_003), null);
  t.deepEqual(told, ['repeated 1', 'out_of_order 1', 'malformed 1', 'malformed 3']);
  t.deepEqual(
    { ...inbox.counts },
    {
      taken: 1,
      malformed: 3,
      too_large: 0,
      not_finite: 0,
      wrong_version: 0,
      repeated: 1,
      out_of_order: 1,
      old_boot: 0,
    },
  );
});
