import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import test from 'ava';
import { temporaryFolder } from '../support/temporary-folder.js';

const probe = `--require "${resolve('test/faults-probe.cjs')}"`;

/** What a program that ran under the probe came to, and the faults that were written down. */
function ran(text: string): { status: number | null; faults: { kind: string; text: string }[] } {
  const file = join(temporaryFolder('probe'), 'faults.jsonl');
  const env = { ...process.env, NODE_OPTIONS: probe, GLEANER_TEST_FAULTS: file };
  const { status } = spawnSync(process.execPath, ['-e', text], { env, stdio: 'ignore' });
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  return {
    status,
    faults: lines.map((line) => JSON.parse(line) as { kind: string; text: string }),
  };
}

test('an uncaught fault is recorded and does not change what the process does', (t) => {
  t.deepEqual(ran('Promise.reject(1).catch(() => undefined)'), { status: 0, faults: [] });
  const ended = ran('Promise.reject(new Error("a"))');
  t.is(ended.status, 1);
  t.deepEqual(
    ended.faults.map(({ kind }) => kind),
    ['unhandledRejection'],
  );
  t.regex(ended.faults[0]!.text, /Error: a/);
  const survived = ran(
    'process.on("unhandledRejection", () => undefined); Promise.reject(new Error("b"))',
  );
  t.is(survived.status, 0);
  t.regex(survived.faults[0]!.text, /Error: b/);
  const handled = ran(
    'process.on("uncaughtException", () => process.exit(7)); throw new Error("c")',
  );
  t.is(handled.status, 7);
  t.deepEqual(
    handled.faults.map(({ kind }) => kind),
    ['uncaughtException'],
  );
});
