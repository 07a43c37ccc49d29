import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import test from 'ava';
import { programVersion } from '../../config/version.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const root = temporaryFolder('version');
const versionIn = (folder: string): string => {
  mkdirSync(join(root, folder));
  const file = join(root, folder, 'package.json');
  writeFileSync(file, JSON.stringify({ version: '1.2.3' }));
  return programVersion(pathToFileURL(file));
};

test('two builds of one version, installed as releases, have versions of their own', (t) => {
  t.is(versionIn('1.2.3-3f2a9c1b'), '1.2.3+3f2a9c1b');
  t.is(versionIn('1.2.3-01234567'), '1.2.3+01234567');
});

test('a clone, an unpacked archive or a folder of another version has that of its package', (t) => {
  for (const folder of ['gleaner', '1.2.3', '1.2.3-x', '1.2.4-3f2a9c1b'])
    t.is(versionIn(folder), '1.2.3');
});
