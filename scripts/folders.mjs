import { readFileSync } from 'node:fs';

const { include } = JSON.parse(readFileSync(new URL('../tsconfig.json', import.meta.url), 'utf8'));

/** The top folders that tsc compiles, except the tests. */
export const sourceFolders = include
  .map((pattern) => pattern.split('/')[0])
  .filter((folder) => folder !== 'test');

/** The folders of the product's own code: neither benches nor tests. */
export const productFolders = sourceFolders.filter((folder) => folder !== 'bench');
