import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/** Folders whose errors an operator can meet. */
const FOLDERS = ['agents', 'broker', 'cli', 'config', 'dashboard', 'openwhisk-plugin', 'simulator'];
const BASE = 'GleanerError';

interface ErrorClass {
  readonly name: string;
  readonly parent: string;
  readonly file: string;
  readonly code: string | null;
  readonly says: string;
  readonly hints: readonly string[];
}

/** One stable code with all that is said under it. */
export interface ErrorRow {
  readonly code: string;
  readonly files: readonly string[];
  readonly says: readonly string[];
  readonly hints: readonly string[];
}

function* sources(folder: string): Generator<string> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* sources(path);
    else if (entry.name.endsWith('.ts')) yield path;
  }
}

const LITERAL = /'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/;

/** The text of a literal as a person reads it: what is filled in is `…`. */
function readable(literal: RegExpExecArray | RegExpMatchArray, at: number): string {
  const text = literal[at] ?? literal[at + 1] ?? literal[at + 2] ?? '';
  return (
    text
      .replace(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, '…')
      // A literal within a literal: the rest is filled in, too.
      .replace(/\$\{.*$/s, '…')
      .replace(/\\n/g, ' ')
      .replace(/\\(.)/g, '$1')
      .replace(/\s+/g, ' ')
  );
}

const HINT = new RegExp(`hint(?::|\\s*=)\\s*(?:\\w+\\s*\\?\\s*)?(?:${LITERAL.source})`, 'g');
const SUPER = new RegExp(`super\\(\\s*(?:${LITERAL.source})`);
const CLASS =
  /(?:\/\*\*((?:[^*]|\*(?!\/))*)\*\/\s*)?export (?:abstract )?class (\w+) extends (\w+) \{([\s\S]*?)\n\}/g;

function classesOf(file: string, text: string): ErrorClass[] {
  return [...text.matchAll(CLASS)].map((match) => {
    const [, comment = '', name = '', parent = '', body = ''] = match;
    const documentedMessage = SUPER.exec(body);
    const documented = comment
      .replace(/^\s*\*/gm, '')
      .replace(/\s+/g, ' ')
      .trim();
    return {
      name,
      parent,
      file,
      code: /code = '(GLN_\w+)'/.exec(body)?.[1] ?? null,
      says: documentedMessage ? readable(documentedMessage, 1) : documented,
      hints: [...body.matchAll(HINT)].map((hint) => readable(hint, 1)),
    };
  });
}

/** A hint in what follows `new SomeError(`, before the next error. */
const SITE = new RegExp(
  `new (\\w+Error)\\((?:(?!new \\w+Error\\()[\\s\\S]){0,500}?${HINT.source}`,
  'g',
);

/** Hints given where an error is thrown, by class. */
function thrownHints(texts: readonly string[]): Map<string, Set<string>> {
  const hints = new Map<string, Set<string>>();
  for (const text of texts) {
    for (const match of text.matchAll(SITE)) {
      const known = hints.get(match[1]!) ?? new Set();
      hints.set(match[1]!, known.add(readable(match, 2)));
    }
  }
  return hints;
}

/** Of an error with many hints those that stand first in the sources. */
const HINTS_SHOWN = 3;

/**
 * Every code of an error that Gleaner raises on purpose, read from the sources below the project's
 * folder.
 */
export function errorRows(project: string): ErrorRow[] {
  const files = FOLDERS.flatMap((folder) => [...sources(join(project, folder))]).sort();
  const texts = files.map((file) => readFileSync(file, 'utf8'));
  const all = files.flatMap((file, i) => classesOf(relative(project, file), texts[i]!));
  const classes = new Map(all.map((each) => [each.name, each]));
  const thrownIn = thrownHints(texts);
  const codeOf = ({ code, parent }: ErrorClass): string | null => {
    const above = classes.get(parent);
    return code ?? (above === undefined ? null : codeOf(above));
  };
  const isOurs = (parent: string): boolean => {
    const above = classes.get(parent);
    return parent === BASE || (above !== undefined && isOurs(above.parent));
  };
  const rows = new Map<string, { files: Set<string>; says: Set<string>; hints: Set<string> }>();
  for (const each of all) {
    const code = isOurs(each.parent) ? codeOf(each) : null;
    if (code === null) continue;
    const row = rows.get(code) ?? { files: new Set(), says: new Set(), hints: new Set() };
    rows.set(code, row);
    row.files.add(each.file);
    if (each.says !== '') row.says.add(each.says);
    for (const hint of [...each.hints, ...(thrownIn.get(each.name) ?? [])]) row.hints.add(hint);
  }
  return [...rows]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([code, row]) => ({
      code,
      files: [...row.files],
      says: [...row.says],
      hints: [...row.hints].slice(0, HINTS_SHOWN),
    }));
}

const cell = (texts: readonly string[]): string =>
  texts.map((text) => text.replaceAll('|', '\\|')).join('<br>');

/** docs/reference/errors.md, generated from the error classes. */
export function errorsReference(project: string): string {
  const lines = [
    '# Errors reference',
    '',
    'Generated by `gleaner docs` from the error classes; do not edit. Every error that Gleaner raises on purpose has a stable code, a message',
    'and a hint: `gleaner: <message> [<code>]`, and the hint below it; over NATS the same three as JSON, with the headers of the service',
    'convention. `…` is filled in. The exit code is 2 for `GLN_USAGE` and `GLN_CONFIG_INVALID`, else 1.',
    '',
    '| code | says | what to do | from |',
    '|---|---|---|---|',
    ...errorRows(project).map(
      ({ code, says, hints, files }) =>
        `| \`${code}\` | ${cell(says)} | ${cell(hints)} | ${files.map((file) => `\`${file}\``).join(', ')} |`,
    ),
  ];
  return `${lines.join('\n')}\n`;
}
