import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import test from 'ava';
import { temporaryFolder } from '../support/temporary-folder.js';

const CONFIG = '.dependency-cruiser.mjs';
const { doors } = (await import(pathToFileURL(resolve(CONFIG)).href)) as {
  doors: readonly string[];
};
const TOPS = [...new Set(doors.map((door) => door.split('/')[0]!)), 'cli', 'bench'];

/** Runs the import checker on a tree of empty doors with these files on top. */
function check(files: Readonly<Record<string, string>>): { status: number | null; output: string } {
  const root = temporaryFolder('gleaner-imports-');
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  for (const folder of [...TOPS, ...doors]) write(`${folder}/index.ts`, 'export {};\n');
  for (const [path, text] of Object.entries(files)) write(path, text);
  cpSync(CONFIG, join(root, CONFIG));
  symlinkSync(resolve('node_modules'), join(root, 'node_modules'));
  const { status, stdout } = spawnSync(
    process.execPath,
    [
      resolve('node_modules/dependency-cruiser/bin/dependency-cruise.mjs'),
      '--config',
      CONFIG,
      ...TOPS,
    ],
    { cwd: root, encoding: 'utf8' },
  );
  return { status, output: stdout };
}

test('every door has its index.ts and its README', (t) => {
  const lacking = doors.flatMap((door) =>
    ['index.ts', 'README.md'].map((file) => `${door}/${file}`).filter((path) => !existsSync(path)),
  );
  t.deepEqual(lacking, []);
});

test('imports downwards through a door, and any within a folder, are allowed', (t) => {
  const { status, output } = check({
    'broker/port.ts': `import { a } from '../config/index.js';\nexport const port = a;`,
    'config/index.ts': 'export const a = 1;',
    'broker/nats/link.ts': `export * from '../port.js';`,
  });
  t.is(status, 0, output);
});

for (const [what, path, text, complaint] of [
  ['upwards', 'config/a.ts', `import type { B } from '../broker/index.js';`, 'config imports only'],
  ['upwards by the rules', 'rules/a.ts', `import '../broker/index.js';`, 'rules imports only'],
  ['of I/O by the rules', 'rules/a.ts', `import 'node:fs';`, 'rules do no I/O'],
  ['sideways', 'agents/host/a.ts', `import '../../dashboard/index.js';`, 'agents imports only'],
  [
    'of the daemon by the decision',
    'openwhisk-plugin/decision/a.ts',
    `import '../daemon/index.js';`,
    'openwhisk-plugin/decision imports only',
  ],
  [
    'past a door',
    'cli/a.ts',
    `import '../agents/host/inner.js';`,
    'agents/host is imported through its index.ts',
  ],
  [
    'of I/O by the decision',
    'openwhisk-plugin/decision/a.ts',
    `import { readFileSync } from 'node:fs';\nexport const read = readFileSync;`,
    'decision and control do no I/O',
  ],
  ['in a cycle', 'broker/a.ts', `import '../broker/b.js';`, 'no cycles'],
] as const) {
  test(`an import ${what} is refused by name`, (t) => {
    const { status, output } = check({
      'agents/host/inner.ts': 'export {};',
      'broker/b.ts': what === 'in a cycle' ? `import './a.js';` : 'export {};',
      [path]: text,
    });
    t.not(status, 0);
    t.true(output.includes(complaint), output);
  });
}
