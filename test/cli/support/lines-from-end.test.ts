import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fc, testProp } from '@fast-check/ava';
import test from 'ava';
import { linesFromEnd } from '../../../cli/support/lines-from-end.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

const MIB = 1024 * 1024;
const path = join(temporaryFolder('lines'), 'lines');
const linesOf = (text: string): string[] => {
  writeFileSync(path, text);
  return [...linesFromEnd(path)];
};

testProp.serial(
  'lines come newest first, wherever a block ends',
  [
    fc.array(fc.string({ unit: fc.constantFrom('a', 'ä', '€') }), { maxLength: 5 }),
    fc.integer({ min: MIB - 9, max: MIB + 9 }),
  ],
  (t, lines, filled) => {
    const all = [...lines, 'x'.repeat(filled / 2), 'y'.repeat(filled / 2), ...lines, ''];
    t.deepEqual(linesOf(all.join('\n')), all.toReversed());
  },
  { numRuns: 30 },
);

test.serial('a line of more than a MiB is left out, and those around it are not', (t) => {
  const long = 'z'.repeat(5 * MIB);
  t.deepEqual(linesOf(`first\n${long}\nlast\n`), ['', 'last', 'first']);
  t.deepEqual(linesOf(`${long}\nlast`), ['last']);
  t.deepEqual(linesOf(''), ['']);
});
