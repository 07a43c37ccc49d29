import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test from 'ava';

const FOLDERS = ['config', 'broker', 'agents', 'openwhisk-plugin', 'dashboard', 'simulator', 'cli', 'bench'];

/** Checks a tree of all the product's folders with these files on top of an empty index.ts and README.md each. */
function check(files: Readonly<Record<string, string>>, without: string | null = null) {
  const root = mkdtempSync(join(tmpdir(), 'gleaner-imports-'));
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  for (const folder of FOLDERS) for (const file of ['index.ts', 'README.md']) write(`${folder}/${file}`, '');
  for (const [path, text] of Object.entries(files)) write(path, text);
  if (without !== null) rmSync(join(root, without));
  // The script looks at the tree that it lies in.
  cpSync('scripts/check-imports.mjs', join(root, 'scripts/check-imports.mjs'));
  const { status, stderr, stdout } = spawnSync(process.execPath, [join(root, 'scripts/check-imports.mjs')], {
    encoding: 'utf8',
  });
  rmSync(root, { recursive: true });
  return { status, stderr, stdout };
}

test('imports downwards through an index, and any within a folder, are let through', (t) => {
  const { status, stdout } = check({
    'broker/port.ts': `import { a } from '../config/index.js';\nimport { b } from './nats/link.js';`,
    'broker/nats/link.ts': `export * from '../port.js';`,
  });
  t.is(status, 0);
  // Eight index.ts and the two above.
  t.regex(stdout, /^imports of 10 files /);
});

for (const [what, path, text, complaint] of [
  [
    'upwards',
    'config/a.ts',
    `import type { B } from '../broker/index.js';`,
    /config\/a\.ts: .*config may not know broker/,
  ],
  ['of a type in place', 'config/a.ts', `let b: import('../broker/index.js').B;`, /config may not know broker/],
  [
    'side by side',
    'agents/a.ts',
    `export * from '../openwhisk-plugin/index.js';`,
    /agents may not know openwhisk-plugin/,
  ],
  ['past the index', 'cli/a.ts', `import '../broker/port.js';`, /only broker\/index\.js is open to others/],
  ['out of the product', 'cli/a.ts', `import '../test/a.js';`, /outside of the product's folders/],
] as const) {
  test(`an import ${what} is named with its file and refused`, (t) => {
    const { status, stderr } = check({ [path]: text });
    t.is(status, 1);
    t.regex(stderr, complaint);
    t.regex(stderr, /^1 import problems in 9 files$/m);
  });
}

test('a folder without an index or a README is refused', (t) => {
  for (const file of ['index.ts', 'README.md']) {
    const { status, stderr } = check({}, `agents/${file}`);
    t.is(status, 1);
    t.true(stderr.startsWith(`agents/ has no ${file}\n`));
  }
});
