import { readFileSync } from 'node:fs';
import test from 'ava';
import { trackedFiles } from '../support/tracked-files.js';

const page = readFileSync('docs/glossary.md', 'utf8');
const terms = [...page.matchAll(/^- \*\*([a-z][a-z -]+)\*\*: /gm)].map(([, term]) => term!);

/** Words of prose and of identifiers: `userLimit` and `user_limit` are `user limit`. */
const wordsOf = (code: string): string =>
  code
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, ' ');

/** As whole words: `lease` is not in `release`. */
const occurrence = (term: string): RegExp => new RegExp(`\\b${wordsOf(term)}(s|es|d|ed|r|rs)?\\b`);

test('each term of the glossary is used in the code', (t) => {
  t.true(terms.length > 40, `${terms.length}`);
  const files = trackedFiles(/^(?!test\/docs\/).*\.ts$/);
  const code = wordsOf(files.map((path) => readFileSync(path, 'utf8')).join('\n'));
  const unused = terms.filter((term) => !occurrence(term).test(code));
  t.deepEqual(unused, []);
});

test('a term inside of another word is not a use of it', (t) => {
  t.false(occurrence('lease').test(wordsOf('const release = 1;')));
  t.true(occurrence('user limit').test(wordsOf('readUserLimits()')));
});

test('the glossary lists each term once', (t) => {
  t.deepEqual(
    terms.filter((term, i) => terms.indexOf(term) !== i),
    [],
  );
});
