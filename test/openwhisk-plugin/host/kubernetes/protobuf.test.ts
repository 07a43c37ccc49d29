import test from 'ava';
import fc from 'fast-check';
import { EngineResponseError } from '../../../../openwhisk-plugin/host/engine/index.js';
import { Message, message } from '../../../../openwhisk-plugin/host/kubernetes/protobuf.js';

test('messages have the bytes of the examples in the encoding guide', (t) => {
  // https://protobuf.dev/programming-guides/encoding: a = 150 in field 1; b = "testing" in field
  // 2; c = { a: 150 } in field 3.
  t.is(message([1, 150]).toString('hex'), '089601');
  t.is(message([2, 'testing']).toString('hex'), '120774657374696e67');
  t.is(message([3, message([1, 150])]).toString('hex'), '1a03089601');
  t.is(message([1, true]).toString('hex'), '0801');
});

test('a negative number is its 64-bit complement', (t) => {
  // -1 as int64: ten bytes of which nine are ff.
  const bytes = Buffer.from('08ffffffffffffffffff01', 'hex');
  t.is(new Message(bytes).number(1), -1);
  t.deepEqual(message([1, -1]), bytes);
});

test('fields that are absent, unknown or of fixed length do not hinder the others', (t) => {
  // Field 1 as fixed64, field 2 as fixed32, field 9 as a varint, field 4 as text.
  const bytes = Buffer.from('090102030405060708' + '1501020304' + '4807' + '22026869', 'hex');
  const read = new Message(bytes);
  t.is(read.text(4), 'hi');
  t.is(read.number(9), 7);
  t.is(read.text(5), '');
  t.is(read.number(5), 0);
  t.is(read.message(5).text(1), '');
  t.deepEqual(read.messages(5), []);
});

test('the last of a repeated single field counts, and maps keep every key', (t) => {
  const bytes = message(
    [1, 'old'],
    [1, 'new'],
    [2, message([1, 'a'], [2, '1'])],
    [2, message([1, 'b'])],
  );
  const read = new Message(bytes);
  t.is(read.text(1), 'new');
  t.deepEqual(
    [...read.map(2)],
    [
      ['a', '1'],
      ['b', ''],
    ],
  );
});

test('any bytes are read as fields or refused with an error of the engine', (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      try {
        const read = new Message(Buffer.from(bytes));
        for (let field = 1; field < 16; field++) {
          read.text(field);
          read.number(field);
        }
      } catch (error) {
        if (!(error instanceof EngineResponseError)) throw error;
      }
      return true;
    }),
  );
  t.pass();
});
