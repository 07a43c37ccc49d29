/**
 * `npm run build`: the WebAssembly kernels by asc, where their source is newer than what is built;
 * then everything by tsc, the dashboard's page apart; then the files made of many modules: the
 * commands for whose answer a person waits, and the hook.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundle } from './bundle.mjs';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const bin = (...parts) => join(root, 'node_modules', ...parts);

/** Folder of the AssemblyScript, its entry, and what is built of it. */
const kernels = [
  [['agents', 'nn', 'simd', 'assembly'], 'kernels.ts', ['agents', 'nn', 'simd', 'kernels.wasm']],
  [
    ['openwhisk-plugin', 'decision', 'policies', 'faasrm', 'assembly'],
    'scorer.ts',
    ['openwhisk-plugin', 'decision', 'policies', 'faasrm', 'scorer.wasm'],
  ],
];

function run(script, args) {
  const { status } = spawnSync(process.execPath, [script, ...args], {
    cwd: root,
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(status ?? 1);
}

for (const [folder, entry, built] of kernels) {
  const source = join(root, ...folder);
  const target = join(root, 'dist', ...built);
  const newest = Math.max(
    statSync(fileURLToPath(import.meta.url)).mtimeMs,
    ...readdirSync(source).map((file) => statSync(join(source, file)).mtimeMs),
  );
  if (existsSync(target) && statSync(target).mtimeMs >= newest) continue;
  mkdirSync(dirname(target), { recursive: true });
  // Warning 112 is about functions on vectors, which only other files of the kernels call. Memory
  // grows when networks are made.
  const options = ['-O3', '--noAssert', '--runtime', 'stub', '--use', 'abort=', '--enable', 'simd'];
  run(bin('assemblyscript', 'bin', 'asc.js'), [
    join(source, entry),
    ...options,
    '--disableWarning',
    '112',
    '--outFile',
    target,
  ]);
}
// The decision code does no I/O, so its kernel is a module like any other.
const scorer = join(root, 'dist', ...kernels[1][2]);
writeFileSync(
  scorer.replace('scorer.wasm', 'scorer-binary.js'),
  `export const SCORER_BINARY = '${readFileSync(scorer, 'base64')}';\n`,
);
run(bin('typescript', 'bin', 'tsc'), ['-p', join(root, 'tsconfig.json')]);
// The dashboard's page knows a browser, and nothing of Node.
run(bin('typescript', 'bin', 'tsc'), ['-p', join(root, 'dashboard', 'web', 'tsconfig.json')]);
await bundle(join(root, 'dist', 'cli'));
