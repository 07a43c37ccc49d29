import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

const { include } = JSON.parse(readFileSync(new URL('../tsconfig.json', import.meta.url), 'utf8'));

/** The top folders that tsc compiles, except the tests. */
export const sourceFolders = include
  .map((pattern) => pattern.split('/')[0])
  .filter((folder) => folder !== 'test');

/** The folders of the product's own code: neither benches nor tests. */
export const productFolders = sourceFolders.filter((folder) => folder !== 'bench');

/** Modification time of a file, ms; 0 if there is none. */
export const modified = (path) => (existsSync(path) ? statSync(path).mtimeMs : 0);

function newestSource(folder) {
  let newest = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) newest = Math.max(newest, newestSource(path));
    else if (entry.name.endsWith('.ts')) newest = Math.max(newest, modified(path));
  }
  return newest;
}

/** Besides the sources: packages are part of the bundles. */
const buildInputs = [
  'tsconfig.json',
  'package-lock.json',
  'scripts/build.mjs',
  'scripts/bundle.mjs',
];

/** When the newest of what a build is made from was changed, ms. */
export const newestInput = (root) =>
  Math.max(
    ...buildInputs.map((file) => modified(join(root, file))),
    ...sourceFolders.map((folder) => newestSource(join(root, folder))),
  );
