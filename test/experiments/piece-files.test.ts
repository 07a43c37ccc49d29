import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { PieceFiles } from '../../experiments/piece-files.js';

test('a piece belongs to the study that made it, also in the next process', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-pieces-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const files = new PieceFiles(folder, { edition: 1, pairs: 20 });
  t.false(files.has('first-0'));
  // A double goes through a file unharmed.
  files.save('first-0', { earned: 0.1 + 0.2, nothing: null });
  t.deepEqual(new PieceFiles(folder, { edition: 1, pairs: 20 }).read('first-0'), {
    earned: 0.30000000000000004,
    nothing: null,
  });
  t.false(new PieceFiles(folder, { edition: 2, pairs: 20 }).has('first-0'));
  t.deepEqual(readdirSync(folder), ['first-0.json'], 'no half of a file is left');

  writeFileSync(join(folder, 'first-0.json'), '');
  t.false(files.has('first-0'), 'an empty file is played again');
});
