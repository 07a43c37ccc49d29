import test from 'ava';
import {
  colorsFor,
  cores,
  mebibytesText,
  plainText,
  span,
  table,
  visibleLength,
} from '../../runtime/output.js';

test('a table has its headers in capitals and its numbers to the right', (t) => {
  const text = table(
    [
      { name: 'a', calls: 5 },
      { name: 'longer', calls: 12345678 },
    ],
    [
      { title: 'name', value: (row: { name: string; calls: number }) => row.name },
      { title: 'calls', value: (row) => String(row.calls), right: true },
    ],
  );
  t.is(text, 'NAME       CALLS\na              5\nlonger  12345678\n');
});

test('colors only on a terminal, and not with NO_COLOR or a dumb one', (t) => {
  const red = (isTerminal: boolean, env: Record<string, string>) =>
    colorsFor({ isTerminal }, env).red('x');
  t.is(red(false, {}), 'x');
  t.is(red(true, { NO_COLOR: '1' }), 'x');
  t.is(red(true, { TERM: 'dumb' }), 'x');
  t.not(red(true, {}), 'x');
  t.is(visibleLength(red(true, {})), 1);
});

test('figures read well and what is missing is a dash', (t) => {
  t.is(cores(250), '0.25');
  t.is(cores(2000), '2');
  t.is(mebibytesText(268_435_456), '256');
  t.is(span(3.24), '3.2ms');
  t.is(span(12_345), '12.35s');
  t.is(span(Number.NaN), '-');
  t.is(cores(null), '-');
});

test('a name cannot steer the terminal', (t) => {
  t.is(plainText('a\u001b[2Jb\u0007\n'), 'a?[2Jb??');
});
