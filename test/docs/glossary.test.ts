import { readFileSync } from 'node:fs';
import test from 'ava';
import { trackedFiles } from '../support/tracked-files.js';

const page = readFileSync('docs/glossary.md', 'utf8');
const terms = [...page.matchAll(/^- \*\*([a-z][a-z -]+)\*\*: /gm)].map(([, term]) => term!);

/** As written in prose, or as a part of an identifier: `user limit`, `userLimit`, `user_limit`. */
const occurrence = (term: string): RegExp => new RegExp(term.split(/[ -]/).join('[ _-]?\\n?'), 'i');

test('each term of the glossary is used in the code', (t) => {
  t.true(terms.length > 40, `${terms.length}`);
  const code = trackedFiles(/^(?!test\/docs\/).*\.ts$/)
    .map((path) => readFileSync(path, 'utf8'))
    .join('\n')
    .replaceAll(/\n\s*(?:\*|\/\/) ?/g, ' ');
  const unused = terms.filter((term) => !occurrence(term).test(code));
  t.deepEqual(unused, []);
});

test('the glossary lists each term once', (t) => {
  t.deepEqual(
    terms.filter((term, i) => terms.indexOf(term) !== i),
    [],
  );
});
