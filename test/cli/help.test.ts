import test from 'ava';
import type { Command } from 'commander';
import { commandsFor } from '../../cli/gleaner-command.js';
import { gleanerProgram } from '../../cli/program.js';
import { announcement } from '../../cli/up/announcement.js';
import { reportError, UsageError } from '../../config/exit.js';
import { defaultConfig } from '../../config/index.js';
import { gleaner } from '../support/gleaner.js';

const program = await gleanerProgram();
const all = (command: Command): Command[] =>
  command.commands.flatMap((child) => [child, ...all(child)]);

/** The error of a command line that nothing runs for, as it is told. */
async function errorText(...words: string[]): Promise<string> {
  const error: unknown = await (await gleanerProgram())
    .parseAsync(words, { from: 'user' })
    .catch((thrown) => thrown);
  let text = '';
  reportError(error, (part) => {
    text += part;
  });
  return text;
}

test('every command of the help is in a group of at most eight', (t) => {
  const groups = new Map<string, number>();
  for (const command of program.createHelp().visibleCommands(program))
    groups.set(command.helpGroup(), (groups.get(command.helpGroup()) ?? 0) + 1);
  t.false(groups.has(''));
  t.true(groups.size >= 5);
  for (const [group, count] of groups) t.true(count <= 8, `${group} ${count}`);
});

test('the description of every command begins with a verb', (t) => {
  // Neither an article, nor a noun with a comma or colon, nor the third person.
  // The studies below `reproduce` are described by their subject.
  for (const command of all(program).filter(({ parent }) => parent?.name() !== 'reproduce'))
    t.notRegex(
      command.description(),
      /^(the|a|an|every|what|which|until|live|one|events|\w+s|[A-Z])\b/,
      command.name(),
    );
});

test('a short flag means one thing in every command', (t) => {
  const optionDescriptions = new Map<string, Set<string>>();
  for (const command of [program, ...all(program)])
    for (const { short, long } of command.options) {
      if (!short) continue;
      if (!optionDescriptions.has(short)) optionDescriptions.set(short, new Set());
      optionDescriptions.get(short)!.add(long!);
    }
  for (const [short, long] of optionDescriptions)
    t.is(long.size, 1, `${short}: ${[...long].join(', ')}`);
  t.deepEqual([...optionDescriptions.get('-f')!], ['--follow']);
});

test('unknown commands get a suggestion, or the hint to list all', async (t) => {
  const names = new Set(['help', ...all(program).map((command) => command.name())]);
  for (const word of ['get', 'describe', 'logs', 'stop', 'start', 'upgrade', 'uninstall'])
    for (const suggestion of commandsFor(word)) {
      const [first = '', second = ''] = suggestion.split(' ');
      t.true(names.has(first), suggestion);
      t.true(
        second === '' || second.startsWith('--') || names.has(second) || second === 'observe',
        suggestion,
      );
    }
  t.regex(
    await errorText('get', 'functions'),
    /^gleaner: unknown command 'get' \[GLN_USAGE\]\n {2}did you mean `gleaner functions`, /,
  );
  t.regex(await errorText('functoins'), /\n {2}did you mean `gleaner functions`\?\n$/);
  t.regex(await errorText('xyzzy'), /\n {2}`gleaner --help` lists every command\n$/);
  t.regex(
    await errorText('agents', 'lists'),
    /\n {2}subcommands: list, explain; see `gleaner agents --help`\n$/,
  );
});

test('every error has one form: what failed, then what to do', async (t) => {
  const form = /^gleaner: [^\n]+\n {2}[^\n]+\n$/;
  for (const words of [
    ['explain'],
    ['status', '--outptu', 'x'],
    ['up', '--for', 'ever'],
    ['mode', 'sideways'],
    ['status', '-o', 'xml'],
  ])
    t.regex(await errorText(...words), form, words.join(' '));
  for (const error of [
    new UsageError('a', { hint: 'b' }),
    new Error('c'),
    Object.assign(new Error('d'), { code: 'EACCES' }),
    'text',
  ]) {
    let text = '';
    reportError(error, (part) => {
      text += part;
    });
    t.regex(text, form);
  }
});

test('`gleaner version` prints the same as `--version`, and JSON', async (t) => {
  const [word, flag, json] = await Promise.all([
    gleaner(['version']),
    gleaner(['--version']),
    gleaner(['version', '-o', 'json']),
  ]);
  t.is(word.code, 0);
  t.is(word.out, flag.out);
  t.is((JSON.parse(json.out) as { node: string }).node, process.versions.node);
});

test('`gleaner up` announces its platform and whether it writes limits', (t) => {
  t.deepEqual(announcement(defaultConfig), [
    'platform host: manages containers named wsk<n>_… on /var/run/docker.sock',
    'mode recommend: decides and publishes, writes no limits',
    'to try it on a simulated host: `gleaner up --platform simulated`, or `npm start`',
  ]);
  const overrides = [
    { match: '/team/**', mode: 'enforce' as const },
    { match: '/x/**', sloMs: 5 },
  ];
  const demo = announcement({
    ...defaultConfig,
    platform: 'simulated',
    functions: { exclude: [], overrides },
  });
  t.deepEqual(demo, [
    'platform simulated: plays a workload on a simulated host; changes no real container',
    'mode recommend: decides and publishes, writes no limits',
    'except /team/**: enforce (functions.overrides)',
  ]);
  t.regex(announcement({ ...defaultConfig, mode: 'enforce' })[1]!, /writes CPU and memory limits/);
  t.regex(
    announcement({ ...defaultConfig, platform: 'simulated', mode: 'enforce' })[1]!,
    /simulated containers only/,
  );
});
