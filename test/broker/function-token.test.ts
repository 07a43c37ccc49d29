import test from 'ava';
import fc from 'fast-check';
import { FunctionNameError } from '../../broker/function-token.js';
import { functionName, functionToken, subjects } from '../../broker/index.js';

const WORD = 'abzAZ019_';
const MIDDLE = `${WORD}@ .&-`;
const LAST = `${WORD}@.&-`;
const charOf = (alphabet: string): fc.Arbitrary<string> => fc.constantFrom(...alphabet);
/** The rule of [OpenWhisk EntityName.scala], written a second time. */
const segment = fc.oneof(
  charOf(WORD),
  fc
    .tuple(charOf(WORD), fc.array(charOf(MIDDLE), { maxLength: 254 }), charOf(LAST))
    .map(([first, middle, last]) => first + middle.join('') + last),
);
const name = fc
  .array(segment, { minLength: 2, maxLength: 3 })
  .map((parts) => `/${parts.join('/')}`);

test('a name with spaces, @, . and & becomes one token', (t) => {
  const token = functionToken('/guest/my pkg/hello.v2@1 & co');
  t.is(String(token), 'L2d1ZXN0L215IHBrZy9oZWxsby52MkAxICYgY28');
  t.is(functionName(token), '/guest/my pkg/hello.v2@1 & co');
});

test('every name that OpenWhisk allows becomes one reversible token', (t) => {
  fc.assert(
    fc.property(name, (value) => {
      const token = functionToken(value);
      return /^L[A-Za-z0-9_-]+$/.test(token) && functionName(token) === value;
    }),
  );
  t.pass();
});

test('a name at full length is allowed, one character more is not', (t) => {
  const longest = 'a'.repeat(256);
  t.is(
    functionName(functionToken(`/${longest}/${longest}/${longest}`)),
    `/${longest}/${longest}/${longest}`,
  );
  t.throws(() => functionToken(`/${longest}a/b/c`), { instanceOf: FunctionNameError });
});

test('a name that OpenWhisk does not allow is refused', (t) => {
  for (const bad of [
    '',
    '/',
    '/a',
    'a/b',
    '/a/b/c/d',
    '/a//b',
    '/a/b ',
    '/a/ b',
    '/a/b\r\n',
    '/a/ü',
    '/a/.b',
    '/a/b>',
  ]) {
    t.throws(() => subjects.target(bad), { instanceOf: FunctionNameError }, JSON.stringify(bad));
  }
});

test('a token that was not made from a name has no name', (t) => {
  for (const bad of ['', '_', 'L', '*', '>', 'L2d1ZXN0', 'a.b', 'L2d1ZXN0L2F=', 'bm90IGEgbmFtZQ'])
    t.is(functionName(bad), null, bad);
  // '/a/bc' encodes to L2EvYmM; its last character has two unused bits: N would decode to the same
  // bytes.
  t.is(String(functionToken('/a/bc')), 'L2EvYmM');
  t.is(functionName('L2EvYmN'), null);
});
