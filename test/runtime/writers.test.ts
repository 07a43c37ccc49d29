import { spawn } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { stringify } from 'yaml';
import { checkConfigWriters, foreignWriter } from '../../runtime/index.js';
import { collected, gleaner, until } from '../support/gleaner.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const OTHER = 65_534;

/** False, with a loud line, for a user who cannot give files away. */
function isRoot(t: ExecutionContext): boolean {
  if (process.getuid?.() === 0) return true;
  t.log('NOT RUN: needs root');
  t.pass();
  return false;
}

function configuration(): { folder: string; file: string } {
  const folder = join(temporaryFolder('writers'), 'etc');
  mkdirSync(folder, { mode: 0o755 });
  const file = join(folder, 'gleaner.yaml');
  writeFileSync(file, 'platform: simulated\n', { mode: 0o644 });
  return { folder, file };
}

test('another owner or a mode that lets others write is found at the file and above', (t) => {
  if (!isRoot(t)) return;
  const { folder, file } = configuration();
  t.is(foreignWriter(file), null);
  t.is(foreignWriter(join(folder, 'missing')), null);
  for (const [path, mode] of [
    [file, 0o666],
    [folder, 0o777],
  ] as const) {
    chmodSync(path, mode);
    t.is(foreignWriter(file), `others may write ${path}`);
    // Others can delete nothing of root's there.
    chmodSync(path, 0o1777);
    if (path === folder) t.is(foreignWriter(file), null);
    chmodSync(path, 0o755);
    chownSync(path, OTHER, 0);
    t.is(foreignWriter(file), `${path} belongs to user ${OTHER}`);
    chownSync(path, 0, 0);
    // A group of root's own may write.
    chmodSync(path, 0o775);
    t.is(foreignWriter(file), null);
    chownSync(path, 0, OTHER);
    t.is(foreignWriter(file), `others may write ${path}`);
    chownSync(path, 0, 0);
  }
  const link = join(temporaryFolder('writers-link'), 'gleaner.yaml');
  symlinkSync(file, link);
  t.is(foreignWriter(link), null);
  chownSync(folder, OTHER, 0);
  t.is(foreignWriter(link), `${folder} belongs to user ${OTHER}`);
});

test('the user who called sudo is trusted, and other users than root are not checked', (t) => {
  if (!isRoot(t)) return;
  const { folder, file } = configuration();
  for (const path of [folder, file]) {
    chownSync(path, OTHER, OTHER);
    chmodSync(path, 0o775);
  }
  t.is(foreignWriter(file), `${file} belongs to user ${OTHER}`);
  t.is(foreignWriter(file, { uid: OTHER, gid: OTHER }), null);
  t.is(foreignWriter(file, { uid: OTHER, groups: true }), null);
  t.is(foreignWriter(file, { uid: OTHER }), `others may write ${file}`);
  const { getuid } = process;
  try {
    process.getuid = () => 1000;
    chmodSync(file, 0o666);
    t.is(foreignWriter(file), null);
    t.is(checkConfigWriters(file), null);
  } finally {
    process.getuid = getuid!;
  }
});

test('the hook starts with files of another user, and warns of each', async (t) => {
  if (!isRoot(t)) return;
  const { file } = configuration();
  const state = join(temporaryFolder('writers-state'), 'state');
  mkdirSync(state, { mode: 0o777 });
  writeFileSync(
    file,
    stringify({
      platform: 'simulated',
      hook: { stateDir: state },
      metrics: { hook: null, agents: null, aggregator: null },
    }),
  );
  chownSync(file, OTHER, 0);
  chownSync(state, OTHER, 0);
  const child = spawn(process.execPath, ['dist/cli/main.js', '--config', file, 'hook'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { output, ended } = collected(child);
  const warned = (): string[] =>
    [...output().matchAll(/"event":"foreign_writer","problem":"([^"]*)"/g)].map(([, at]) => at!);
  await until(() => warned().length === 2, 60_000, 'both warnings');
  t.deepEqual(warned(), [`${file} belongs to user ${OTHER}`, `${state} belongs to user ${OTHER}`]);
  child.kill('SIGTERM');
  t.is(await ended, 0);
});

test('root refuses a configuration that everybody may write', async (t) => {
  if (!isRoot(t)) return;
  const { folder, file } = configuration();
  writeFileSync(file, `platform: simulated\nhook: { stateDir: ${folder}/state }\n`);
  t.is(checkConfigWriters(undefined), null);
  t.is(checkConfigWriters(`${file}.missing`), null);
  chownSync(file, OTHER, OTHER);
  t.regex(checkConfigWriters(file) ?? '', /belongs to user 65534$/);
  chmodSync(file, 0o666);
  for (const part of ['hook', 'up']) {
    const { code, err } = await gleaner(['--config', file, part]);
    t.is(code, 2, err);
    t.regex(err, /every user of this host may write .*gleaner\.yaml.*GLN_CONFIG_OPEN/);
  }
  // Limits come back whatever its mode.
  t.is((await gleaner(['--config', file, 'restore', '--hold'])).code, 0);
});
