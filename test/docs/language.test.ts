/** Plain language: no private words, no documents outside of the repository, no overlong lines. */
import { readFileSync } from 'node:fs';
import test from 'ava';
import { ERRORS } from '../../config/error-table.js';
import { trackedFiles } from '../support/tracked-files.js';

/** Private or old-fashioned words; the terms to use are in docs/glossary.md. */
const BANNED = [
  'wish(es|ed|er|ing)?',
  'payers?',
  'apprentices?',
  'tutors?',
  'tuition',
  'lessons?',
  'evenings?',
  'pupils?',
  'desks?',
  'shel(f|ves)',
  'sights?',
  'surroundings',
  'brook',
  'mend(ed|s|ing)?',
  'put by',
  'of late',
  'none of it',
  'nobody',
  'somebody',
  'so many',
  'as it was left',
  'makes? do',
  'whoever',
  'witness(es)?',
  'patience',
  'milestones?',
  'sleepers?',
  'tells? of',
  'told of',
  'anew',
  'teach(es|er|ing)?',
  'taught',
  'else where',
  // A condition is `if`; `where` is for places.
  'where (there|no|none|nothing)',
  'by itself alone',
  'for ever',
  'at rest',
  'comes? of it',
  'stands? for itself',
  'lays? hold',
  'lest',
  'whence',
  'thereof',
  'hence',
  'thus',
  'upon',
  'amid',
  'ere',
  'nought',
  'aught',
  'heed',
  'yonder',
  'mine',
  'thine',
  'crowded',
  'brings? about',
  'need luck',
  'rest double',
  'says now',
  'speaks? api',
  // OpenWhisk's word is activation.
  '(least|watch|kept|managed|cold|warm|solo) calls?',
  'calls at limit',
  'call records?',
];
const WORDS = new RegExp(`\\b(?:${BANNED.join('|')})\\b`, 'i');

/** Documents and trackers that a reader of the repository cannot open. */
const OUTSIDE = new RegExp(
  [
    'field-notes',
    'simppo-aware',
    'faasrm\\.md §',
    '\\(design',
    'design §',
    'openwhisk-observed',
    '(?<![\\w-])(?:style|writing|structure|libraries|kubernetes)\\.md',
    'findings/',
    '\\bissue \\d',
  ].join('|'),
  'i',
);

const MAX_COLUMNS = 100;

/** Text in which a word is a name of another program or a recorded value. */
const EXCEPTIONS: readonly RegExp[] = [
  // A user of Unix systems.
  /(?<=['"`])nobody(?=['"`])/g,
  // Names of earlier releases that are still read, or refused with the new ones.
  /\b(?:least|watch)Calls\b(?=['`:])|\bcallsAtLimit\b/g,
];

/** `payerFloor`, `payer_floor` and `payer-floor` contain the word `payer`. */
const asWords = (line: string): string =>
  EXCEPTIONS.reduce((text, exception) => text.replaceAll(exception, ''), line)
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll(/[_-]/g, ' ');

const TEXT = /^(?!test\/data\/|package-lock|docs\/language).*\.(ts|mjs|cjs|md|yaml|yml|html|css)$/;
const CODE = /\.(ts|mjs|cjs)$/;
/** This file holds the words themselves. */
const SELF = 'test/docs/language.test.ts';

function* linesOf(pattern: RegExp): Generator<{ where: string; line: string }> {
  for (const path of trackedFiles(pattern)) {
    if (path === SELF) continue;
    for (const [i, line] of readFileSync(path, 'utf8').split('\n').entries())
      yield { where: `${path}:${i + 1}`, line };
  }
}

const found = (pattern: RegExp, problemOf: (line: string) => string | null): string[] =>
  [...linesOf(pattern)].flatMap(({ where, line }) => {
    const problem = problemOf(line);
    return problem === null ? [] : [`${where}: ${problem}`];
  });

test('no private word is in a name, comment, message or page', (t) => {
  t.deepEqual(
    found(TEXT, (line) => WORDS.exec(asWords(line))?.[0] ?? null),
    [],
  );
});

test('no file mentions a document outside of the repository', (t) => {
  t.deepEqual(
    found(TEXT, (line) => OUTSIDE.exec(line)?.[0] ?? null),
    [],
  );
});

test('no line of code is longer than 100 columns', (t) => {
  t.deepEqual(
    found(CODE, (line) => ([...line].length > MAX_COLUMNS ? `${line.length} columns` : null)),
    [],
  );
});

test('no error sends an operator to a source file', (t) => {
  const source = /\.ts\b|\b(?:agents|broker|openwhisk-plugin|simulator|experiments|runtime|cli)\//;
  for (const [code, { message, hint }] of Object.entries(ERRORS))
    t.notRegex(`${message} ${hint}`, source, code);
});

test('a private word is found in each form of a name', (t) => {
  for (const line of ['const payerFloor = 1', 'payer_floor', 'keptCalls', '// null where none'])
    t.regex(asWords(line), WORDS, line);
  t.notRegex(asWords("const user = 'nobody';"), WORDS);
  t.notRegex(asWords('Anyone may publish'), WORDS);
});
