/** Commands in the text of the pages are not run, but the program must know each of their words. */
import { readFileSync } from 'node:fs';
import test from 'ava';
import type { Command } from 'commander';
import { gleanerProgram } from '../../cli/program.js';
import { blocksOf, commandPages, proseOf } from './pages.js';

interface Typed {
  readonly where: string;
  readonly words: readonly string[];
}

/** Words of a command as a shell would split it; quotes are taken off. */
const wordsOf = (text: string): string[] =>
  [...text.matchAll(/"[^"]*"|'[^']*'|\S+/g)].map(([word]) => word.replaceAll(/^["']|["']$/g, ''));

/** Code in the text that begins with the program's name. */
function typed(page: string, name: string): Typed[] {
  const prose = proseOf(readFileSync(page, 'utf8'));
  return prose.split('\n').flatMap((line, i) =>
    [...line.matchAll(/`([^`]+)`/g)]
      .map(([, code]) => code!.replace(/^npx -- /, ''))
      .filter((code) => code.startsWith(`${name} `))
      .map((code) => ({ where: `${page}:${i + 1}: ${code}`, words: wordsOf(code).slice(1) })),
  );
}

/** Null if the program accepts it. `a | b` names two commands; `…` and `<x>` are placeholders. */
function problemOf(program: Command, words: readonly string[]): string | null {
  let command = program;
  let values = 0;
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!;
    if (['|', '…', '-o'].includes(word)) {
      if (word === '-o') i++;
      continue;
    }
    if (word.startsWith('-')) {
      const [flag] = word.split('=');
      const option = [...command.options, ...program.options].find(
        ({ short, long }) => short === flag || long === flag,
      );
      if (option === undefined) return `${command.name()} has no ${flag}`;
      if (option.required && !word.includes('=')) i++;
      continue;
    }
    const child = command.commands.find((each) => each.name() === word);
    if (child !== undefined && values === 0) {
      command = child;
      continue;
    }
    values++;
    if (command === program) return `there is no command ${word}`;
    const taken = command.registeredArguments;
    if (taken.length < values && taken.at(-1)?.variadic !== true)
      return `${command.name()} takes no ${word}`;
    const choices = taken[values - 1]?.argChoices;
    if (choices !== undefined && !choices.includes(word) && !/[<…]/.test(word))
      return `${command.name()} knows no ${word}`;
  }
  return null;
}

const program = await gleanerProgram();

test('every `gleaner …` in the text of a page is accepted by the program', (t) => {
  const all = commandPages().flatMap((page) => typed(page, 'gleaner'));
  t.true(all.length > 50, `${all.length}`);
  for (const { where, words } of all) {
    // `gleaner install | check | remove`: each of them.
    const bars = words.filter((word) => word === '|').length;
    const each = bars > 0 ? words.filter((word) => word !== '|').map((word) => [word]) : [words];
    for (const one of each) t.is(problemOf(program, one), null, where);
  }
});

test('every `npm run …` in the text is a script, and every bench exists', (t) => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    scripts: Record<string, string>;
  };
  const benches = readFileSync('bench/suites.ts', 'utf8');
  const all = commandPages().flatMap((page) => typed(page, 'npm run'));
  t.true(all.length > 10, `${all.length}`);
  for (const { where, words } of all) {
    const [, script = '', dashes, first] = words;
    if (script === '…' || script.startsWith('-')) continue;
    t.true(script in scripts, where);
    if (script === 'bench' && dashes === '--' && /^[a-z]/.test(first ?? ''))
      t.regex(benches, new RegExp(`['"]?\\b${first}\\b['"]?`), where);
  }
});

test('a word that the program does not know is found', (t) => {
  for (const wrong of [
    'explode',
    'explain /a/b --lastt 3',
    'mode faster',
    'restore now',
    'agents lists',
  ])
    t.not(problemOf(program, wordsOf(wrong)), null, wrong);
  for (const right of [
    'explain /a/b --last 3',
    '--config x.yaml mode enforce --function /a/b',
    'restore --all',
    'agents explain /a/b',
  ])
    t.is(problemOf(program, wordsOf(right)), null, right);
});

test('blocks name their language, markings are valid, and commands are fenced', (t) => {
  for (const page of commandPages()) {
    const text = readFileSync(page, 'utf8');
    for (const { line, language, unreadable } of blocksOf(page)) {
      const isPicture = page === 'docs/architecture.md';
      t.true(language !== '' || isPicture, `${page}:${line}: which language?`);
      t.is(unreadable, null, `${page}:${line}`);
    }
    for (const [i, line] of proseOf(text).split('\n').entries())
      t.notRegex(line, /^ {4,}(npm|npx|gleaner|nats|docker|node) /, `${page}:${i + 1}: fence it`);
  }
});
