import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { completionScript, wordsOf } from '../../cli/commands/completion.js';
import { gleanerProgram } from '../../cli/program.js';

const program = await gleanerProgram();

/** Completions of a line, by bash itself. */
function offered(line: string): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-completion-'));
  const file = join(folder, 'gleaner.bash');
  writeFileSync(file, completionScript(program, 'bash'));
  const words = line.split(' ');
  const script = [
    `source ${file}`,
    `COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')})`,
    `COMP_CWORD=${words.length - 1}`,
    '_gleaner',
    `printf '%s\\n' "\${COMPREPLY[@]}"`,
  ].join('; ');
  const { stdout, stderr, status } = spawnSync('bash', ['-c', script], { encoding: 'utf8' });
  rmSync(folder, { recursive: true });
  if (status !== 0) throw new Error(stderr);
  return stdout.split('\n').filter(Boolean);
}

test('bash completes commands, sub-commands, options and their values', (t) => {
  t.deepEqual(offered('gleaner ex'), ['explain']);
  t.deepEqual(offered('gleaner agents l'), ['list']);
  t.deepEqual(offered('gleaner mode enf'), ['enforce']);
  t.deepEqual(offered('gleaner status --output '), ['table', 'json']);
  t.deepEqual(offered('gleaner functions --output '), ['table', 'wide', 'json']);
  t.deepEqual(offered('gleaner --nats x events -k dr'), ['drift']);
  t.true(offered('gleaner restore --').includes('--hold'));
  t.deepEqual(offered('gleaner nonsense-'), []);
});

test('every command that help shows is there, in every shell', (t) => {
  const names = wordsOf(program).map(({ path }) => path);
  for (const name of [
    'top',
    'functions',
    'explain',
    'agents list',
    'meanfield',
    'events',
    'audit',
    'pause',
    'resume',
  ])
    t.true(names.includes(name), name);
  for (const name of ['retrain', 'mode', 'restore', 'doctor', 'support-bundle', 'completion'])
    t.true(names.includes(name), name);
  t.false(names.includes('workload'), 'hidden');
  t.regex(completionScript(program, 'zsh'), /^#compdef gleaner/);
  t.regex(
    completionScript(program, 'fish'),
    /-n 'not __fish_seen_subcommand_from up .*' -a 'top' -d 'watch hosts/,
  );
});
