import { spawnSync } from 'node:child_process';
import test from 'ava';

/** What V8 says when the flags of a hook are set in a process whose V8 has this version. */
const complaint = (version: string): string => {
  const script =
    "import { optimizeSooner } from './dist/runtime/optimize-sooner.js';" +
    `optimizeSooner(${version}); process.stdout.write('set');`;
  const args = ['--input-type=module', '-e', script];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (stdout !== 'set') throw new Error(stderr);
  return stderr;
};

test('this V8 knows the flag that it gets, and others get none', (t) => {
  t.is(complaint('process.versions.v8'), '');
  t.is(complaint("'12.4.254.21-node.33'"), '');
});
