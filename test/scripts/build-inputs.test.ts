import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import test from 'ava';
import { temporaryFolder } from '../support/temporary-folder.js';

const { newestInput, sourceFolders } = (await import(
  pathToFileURL(resolve('scripts/folders.mjs')).href
)) as { newestInput(root: string): number; sourceFolders: readonly string[] };

for (const input of ['package-lock.json', 'scripts/build.mjs', 'tsconfig.json', 'cli/main.ts'])
  test(`npm start builds again after a change of ${input}`, (t) => {
    const root = temporaryFolder('inputs');
    for (const folder of ['scripts', ...sourceFolders]) mkdirSync(join(root, folder));
    for (const file of ['package-lock.json', 'scripts/build.mjs', 'tsconfig.json', 'cli/main.ts']) {
      writeFileSync(join(root, file), '');
      utimesSync(join(root, file), 1000, 1000);
    }
    t.is(newestInput(root), 1000e3);
    utimesSync(join(root, input), 2000, 2000);
    t.is(newestInput(root), 2000e3);
  });
