import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import test from 'ava';
import { trackedFiles } from '../support/tracked-files.js';
import { anchorsOf, pagesBelow, proseOf } from './pages.js';

const LINK = /!?\[(?:[^\]\\]|\\.)*\]\(([^)\s]+)\)/g;

interface Link {
  readonly page: string;
  readonly line: number;
  readonly to: string;
}

function linksOf(page: string): Link[] {
  return proseOf(readFileSync(page, 'utf8'))
    .split('\n')
    .flatMap((line, i) =>
      [...line.replaceAll(/`[^`]*`/g, '').matchAll(LINK)].map(([, to]) => ({
        page,
        line: i + 1,
        to: to!,
      })),
    );
}

const pages = [...pagesBelow()];
const links = pages.flatMap(linksOf);
const isOutside = (to: string): boolean => /^(https?|mailto):/.test(to);

test('every relative link of every page leads to an existing file and heading', (t) => {
  t.true(links.length > 100, `${links.length}`);
  const anchors = new Map<string, Set<string>>();
  const wrong: string[] = [];
  for (const { page, line, to } of links) {
    if (isOutside(to)) continue;
    const [path = '', anchor] = to.split('#');
    const file = path === '' ? page : normalize(join(dirname(page), path));
    if (!existsSync(file) || file.startsWith('..')) {
      wrong.push(`${page}:${line}: ${to}`);
      continue;
    }
    if (anchor === undefined) continue;
    if (!anchors.has(file)) anchors.set(file, anchorsOf(readFileSync(file, 'utf8')));
    if (!anchors.get(file)!.has(anchor)) wrong.push(`${page}:${line}: ${to}: no such heading`);
  }
  t.deepEqual(wrong, []);
});

test('every page for operators is reached from the README', (t) => {
  const reached = new Set(['README.md']);
  for (const page of reached) {
    for (const { page: from, to } of links) {
      if (from !== page || isOutside(to)) continue;
      const file = normalize(join(dirname(page), to.split('#')[0]!));
      if (file.endsWith('.md') && existsSync(file)) reached.add(file);
      // A folder is its README, and the pages in it.
      else if (existsSync(file) && statSync(file).isDirectory())
        for (const inside of pages) if (dirname(inside) === normalize(file)) reached.add(inside);
    }
  }
  t.deepEqual(
    pages.filter(
      (page) => page.startsWith('docs/') && !page.startsWith('docs/results/') && !reached.has(page),
    ),
    [],
  );
});

test('each folder behind a door has a README that says where to start, of real files', (t) => {
  const files = trackedFiles(/./);
  const owners = 'agents|broker|experiments|openwhisk-plugin|runtime|simulator';
  const door = new RegExp(`^(${owners})/[\\w-]+/index\\.ts$`);
  const doors = files.filter((path) => door.test(path));
  const missing = doors
    .map((path) => dirname(path))
    .filter((folder) => !existsSync(join(folder, 'README.md')));
  t.deepEqual(missing, []);
  const withoutStart = files.filter(
    (path) =>
      /^(?!docs|test).*\/README\.md$/.test(path) &&
      !/\bStart (?:with|at|reading|here)\b/.test(readFileSync(path, 'utf8')),
  );
  t.deepEqual(withoutStart, []);
  const wrong: string[] = [];
  for (const page of files.filter((path) => path.endsWith('README.md'))) {
    const folder = dirname(page);
    for (const [, name] of proseOf(readFileSync(page, 'utf8')).matchAll(
      /`([\w./-]+\.(?:ts|mjs))`/g,
    )) {
      // A README may name a file of one of its subfolders by its name alone.
      const exists = files.some(
        (path) => path === name || (path.startsWith(`${folder}/`) && path.endsWith(`/${name}`)),
      );
      if (!exists && !existsSync(join(folder, '..', name!))) wrong.push(`${page}: ${name}`);
    }
  }
  t.deepEqual(wrong, []);
});

test('headings become anchors as GitHub makes them', (t) => {
  const text =
    '# A `code`, and *more*: 1.5 x\n\n## Twice\n\n## Twice\n\n```sh\n# no heading\n```\n';
  t.deepEqual([...anchorsOf(text)], ['a-code-and-more-15-x', 'twice', 'twice-1']);
});
