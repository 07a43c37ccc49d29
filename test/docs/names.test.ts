/** Columns, metrics and configuration keys that the pages name must exist. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import test from 'ava';
import { parse } from 'yaml';
import { buckets, objectStores, streams } from '../../broker/index.js';
import { managers, policyNames } from '../../config/index.js';
import { keysOf } from '../../config/keys.js';
import { REMOVED_KEYS } from '../../config/removed-keys.js';
import { configSchema } from '../../config/schema.js';
import { METRICS } from '../../runtime/metrics/table.js';
import { commandPages, pagesBelow } from './pages.js';

function* sourcesBelow(folder: string, ending = '.ts'): Generator<string> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* sourcesBelow(path, ending);
    else if (entry.name.endsWith(ending)) yield path;
  }
}

/** Headings of all tables of the command line, in capitals as they are printed. */
const headings = new Set(
  [...sourcesBelow('cli')].flatMap((path) =>
    [
      ...readFileSync(path, 'utf8').matchAll(
        /\b(?:left|right|styled|figureOf|ofQuota)(?:<\w+>)?\(\s*'([^']+)'/g,
      ),
    ].map(([, title]) => title!.toUpperCase()),
  ),
);

/** Columns of the files that `gleaner simulate` writes. */
const fileColumns = new Set(
  [
    ...readFileSync('experiments/compare/activation-export.ts', 'utf8').matchAll(
      /^ {2}\['(\w+)', \(/gm,
    ),
  ].map(([, name]) => name!),
);

/**
 * Columns that a text names: `column `X``, `columns `X`, `Y``, and the first cells of a table whose
 * first heading is `column`.
 */
function columnsNamed(text: string): string[] {
  const codes = (part: string): string[] =>
    [...part.matchAll(/`([^`]+)`/g)].map(([, code]) => code!);
  const inText = [
    ...text.matchAll(/\bcolumns? (`[^`]+`(?:(?:, | and | or )`[A-Z][^`]*`)*)/g),
  ].flatMap(([, list]) => codes(list!));
  const inTables: string[] = [];
  let within = false;
  for (const line of text.split('\n')) {
    if (/^\| *column *\|/.test(line)) within = true;
    else if (!line.startsWith('|')) within = false;
    else if (within) inTables.push(...codes(line.split('|')[1]!));
  }
  return [...inText, ...inTables];
}

test('every column that a page names exists in a table or file of the command line', (t) => {
  t.true(headings.size > 40, `${headings.size}`);
  let named = 0;
  // Tables of results have other columns.
  for (const page of commandPages().filter((each) => !each.startsWith('docs/results/')))
    for (const column of columnsNamed(readFileSync(page, 'utf8'))) {
      named++;
      t.true(
        headings.has(column) || fileColumns.has(column),
        `${page}: there is no column ${column}`,
      );
    }
  t.true(named > 15, `${named}`);
});

test('a column that does not exist is found, in a sentence and in a table', (t) => {
  t.deepEqual(columnsNamed('see columns `A`, `B C` and `D`; the `E`'), ['A', 'B C', 'D']);
  t.deepEqual(columnsNamed('| column | what |\n|---|---|\n| `A`, `B` | `c` |\n\n| `D` | |'), [
    'A',
    'B',
  ]);
  t.false(headings.has('WANTED'));
});

test('every `gleaner_…` of a page is a metric, a NATS store or an Ansible variable', (t) => {
  const known = new Set<string>([
    ...Object.keys(METRICS),
    ...[buckets, objectStores, streams].flatMap((names) =>
      Object.values(names as Record<string, string>),
    ),
  ]);
  let named = 0;
  for (const path of sourcesBelow('deploy/ansible', '.yml'))
    for (const [name] of readFileSync(path, 'utf8').matchAll(/\bgleaner_\w+/g)) known.add(name);
  const pages = [
    ...commandPages(),
    ...[...pagesBelow()].filter((page) => page.endsWith('README.md')),
  ];
  for (const page of new Set(pages))
    for (const [name] of readFileSync(page, 'utf8').matchAll(
      /\bgleaner_[a-z0-9_]*[a-z0-9]\b(?!\*|_\*)/g,
    )) {
      named++;
      t.true(
        known.has(name.replace(/_(bucket|sum|count)$/, '')) || known.has(name),
        `${page}: ${name}`,
      );
    }
  t.true(named > 30, `${named}`);
});

/** Dotted paths of all values of the Helm chart. */
function valuesBelow(tree: unknown, path: string): string[] {
  if (typeof tree !== 'object' || tree === null || Array.isArray(tree)) return [path];
  return [
    path,
    ...Object.entries(tree).flatMap(([key, value]) =>
      valuesBelow(value, path === '' ? key : `${path}.${key}`),
    ),
  ];
}

test('every configuration key that a page names exists', (t) => {
  const keys = [...keysOf(configSchema)].map(({ path }) => path.join('.'));
  const sections = [...new Set(keys.map((key) => key.split('.')[0]!))];
  const chart = valuesBelow(parse(readFileSync('deploy/helm/gleaner/values.yaml', 'utf8')), '');
  const named = new RegExp(`\\b(?:${sections.join('|')})(?:\\.[a-z]\\w*)+(?:\\.\\*)?`, 'g');
  const exists = (name: string): boolean =>
    keys.some((key) => key === name || key.startsWith(`${name.replace(/\.\*$/, '')}.`));
  let found = 0;
  const wrong: string[] = [];
  // The page on upgrades names removed keys, and benchmarks name their figures likewise.
  const pages = commandPages().filter((each) => !/^docs\/(upgrade\.md|results\/)/.test(each));
  for (const page of pages)
    for (const [, code] of readFileSync(page, 'utf8').matchAll(/`([^`\n]+)`/g))
      for (const [name] of code!.matchAll(named)) {
        // Names of files and hosts.
        if (/\.(md|ts|js|mjs|yaml|yml|json|sh|csv|log|service|nk|example)$/.test(name)) continue;
        found++;
        if (page === 'docs/install-kubernetes.md' && chart.includes(name)) continue;
        if (!exists(name)) wrong.push(`${page}: ${name}`);
      }
  t.deepEqual(wrong, []);
  t.true(found > 30, `${found}`);
});

test('no page but the one on upgrades names a removed key', (t) => {
  const wrong = [...pagesBelow()]
    .filter((page) => page !== 'docs/upgrade.md')
    .flatMap((page) => {
      const text = readFileSync(page, 'utf8');
      return Object.keys(REMOVED_KEYS)
        .filter((key) => text.includes(`\`${key}`))
        .map((key) => `${page}: ${key}`);
    });
  t.deepEqual(wrong, []);
});

test("a source file that a folder's README lists is there", (t) => {
  const missing: string[] = [];
  let listed = 0;
  for (const page of pagesBelow())
    if (page.endsWith('/README.md'))
      for (const [, name] of readFileSync(page, 'utf8').matchAll(
        /^(?:- |\| *)`([\w./-]+\.(?:ts|mjs))`/gm,
      )) {
        listed++;
        if (!existsSync(join(dirname(page), name!))) missing.push(`${page}: ${name}`);
      }
  t.deepEqual(missing, []);
  t.true(listed > 100, `${listed}`);
});

test('docs/managers.md describes each manager and each policy in its section', (t) => {
  const page = readFileSync('docs/managers.md', 'utf8');
  const [, ofManagers = '', ofPolicies = ''] = page.split(/^## /m);
  const missing = (names: readonly string[], section: string): string[] =>
    names.filter((name) => !new RegExp(`^(\\||- ).*\`${name}\``, 'm').test(section));
  t.deepEqual(missing(managers, ofManagers), []);
  t.deepEqual(missing(policyNames, ofPolicies), []);
  t.deepEqual(missing(['gittins', 'new'], ofPolicies), ['new']);
});
