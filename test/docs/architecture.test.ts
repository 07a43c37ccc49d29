/** docs/architecture.md describes the tree, the import rules and the two ways as they are. */
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import test from 'ava';

const page = readFileSync('docs/architecture.md', 'utf8');

function section(heading: string): string {
  const from = page.indexOf(`\n## ${heading}`);
  if (from < 0) throw new Error(`no section ${heading}`);
  const to = page.indexOf('\n## ', from + 1);
  return page.slice(from, to < 0 ? undefined : to);
}

/** First and second cells of the rows of the section's table. */
const rowsOf = (heading: string): [string, string][] =>
  [...section(heading).matchAll(/^\| `([^`]+)` \| (.*) \|$/gm)].map(([, first, second]) => [
    first!,
    second!,
  ]);

test('an activation passes at most nine files from packet to cgroup', (t) => {
  const files = rowsOf('One activation').map(([file]) => file);
  t.true(files.length > 5 && files.length <= 9, `${files.length}`);
  for (const file of files) t.true(existsSync(file), file);
});

test('a decision passes at most eight files from observation to target', (t) => {
  const files = rowsOf('One decision').map(([file]) => file);
  t.true(files.length > 5 && files.length <= 8, `${files.length}`);
  for (const file of files) t.true(existsSync(file), file);
});

test('each file that the page and CONTRIBUTING name exists', (t) => {
  for (const text of [page, readFileSync('CONTRIBUTING.md', 'utf8')])
    for (const [, file] of text.matchAll(/`([\w-]+(?:\/[\w.-]+)+\.ts)`/g))
      t.true(existsSync(file!), file);
});

test('each folder of the tree exists', (t) => {
  const tree = /```\n(config\/[\s\S]*?)```/.exec(page)![1]!;
  let parent = '';
  let known = 0;
  for (const line of tree.split('\n')) {
    const [, indent = '', names = ''] = /^( *)((?:[\w./-]+\/ +)+|[\w./-]+\/$)/.exec(line) ?? [];
    for (const name of names.split(/ +/).filter((each) => each.endsWith('/'))) {
      const path = indent === '' ? name : `${parent}${name}`;
      t.true(existsSync(path), path);
      known++;
    }
    if (indent === '' && names !== '') parent = names.split(/ +/)[0]!;
  }
  t.true(known > 35, `${known}`);
});

test('the import directions are those that the linter checks', async (t) => {
  const { default: rules } = (await import(
    pathToFileURL(resolve('.dependency-cruiser.mjs')).href
  )) as { default: { forbidden: { name: string }[] } };
  const checked = rules.forbidden.flatMap(({ name }) => {
    const [, folder, others] = /^(\S+) imports only from (.+)$/.exec(name) ?? [];
    return folder === undefined ? [] : [[folder, others!.split(', ').sort()]];
  });
  const written = rowsOf('What may import what').map(([folder, others]) => [
    folder,
    others.replaceAll(/[`\\]/g, '').split(', ').sort(),
  ]);
  t.deepEqual(written.sort(), checked.sort());
});
