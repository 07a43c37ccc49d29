import { linkSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { loadMeta, saveMeta, shippedMeta } from '../../../../agents/aware/index.js';
import { temporaryFolder } from '../../../support/temporary-folder.js';

test('a saved meta-learner replaces the one before in one step', async (t) => {
  const folder = temporaryFolder('meta');
  const meta = shippedMeta();
  await saveMeta(folder, meta, 'first');
  // Another name of the same file: writing into the file would change it, too.
  const before = join(folder, 'before');
  linkSync(join(folder, 'meta.json'), before);
  const text = readFileSync(before, 'utf8');
  const actor = meta.base.actor.map((weight) => weight + 1);
  await saveMeta(folder, { ...meta, base: { ...meta.base, actor } }, 'second');
  t.is(readFileSync(before, 'utf8'), text);
  t.deepEqual(loadMeta(folder).base.actor, actor);
  const files = readdirSync(folder).sort();
  t.is(files.length, 3, 'of the first one no weights are left, and no half of a file');
  t.deepEqual(files.slice(0, 2), ['before', 'meta.json']);
});
