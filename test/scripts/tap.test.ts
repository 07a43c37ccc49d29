import test from 'ava';

interface Counts {
  readonly passed: number;
  readonly failed: number;
}
interface Tap {
  resultsByFile(output: string, exists: (file: string) => boolean): Map<string | null, Counts>;
  merged(
    first: Map<string | null, Counts>,
    second: Map<string | null, Counts>,
  ): Counts & { readonly flaky: readonly string[] };
  slowestFiles(
    lines: readonly { readonly at: number; readonly line: string }[],
    begun: number,
    exists: (file: string) => boolean,
    concurrency: number,
  ): [string, number][];
}

// A script, and no module that is compiled.
const { resultsByFile, merged, slowestFiles } = (await import(
  new URL('../../../scripts/tap.mjs', import.meta.url).href
)) as Tap;

const UP = 'dist/test/cli/up.real.test.js';
const MESSAGES = 'dist/test/faults/messages.real.test.js';
const SOAK = 'dist/test/soak/soak.real.test.js';
const exists = (file: string): boolean => [UP, MESSAGES, SOAK].includes(file);

test('a line belongs to the file in its title, a failure without a file to the next exit', (t) => {
  // As AVA 6 prints them.
  const results = resultsByFile(
    [
      'TAP version 13',
      'ok 1 - cli › up.real › it starts',
      'ok 2 - cli › up.real › with › signs of its own',
      'not ok 3 - cli › up.real › it ends',
      '  ---',
      '    at: ok 9 - not a line of its own',
      '  ...',
      'ok 4 - faults › messages.real › bad ones # SKIP',
      'ok 5 - faults › messages.real › good ones',
      'not ok 6 - Error: EBADF: bad file descriptor, read',
      `not ok 7 - ${MESSAGES} exited with a non-zero exit code: 1`,
      '1..6',
      '# pass 3',
    ].join('\n'),
    exists,
  );
  t.deepEqual(
    [...results],
    [
      [UP, { passed: 2, failed: 1 }],
      [MESSAGES, { passed: 1, failed: 2 }],
    ],
  );
});

test('a failure without a file is still a failure', (t) => {
  const results = resultsByFile('not ok 1 - Error: unknown\n', exists);
  t.deepEqual([...results], [[null, { passed: 0, failed: 1 }]]);
  t.deepEqual(merged(results, new Map()), { passed: 0, failed: 1, flaky: [] });
});

test('a second run replaces a failed first one; two failures, or no output, are a failure', (t) => {
  const first = new Map([
    [UP, { passed: 2, failed: 1 }],
    [MESSAGES, { passed: 1, failed: 2 }],
  ]);
  const counts = (file: string, passed: number, failed: number) =>
    new Map([[file, { passed, failed }]]);
  t.deepEqual(merged(first, counts(UP, 3, 0)), { passed: 4, failed: 2, flaky: [UP] });
  t.deepEqual(merged(first, counts(UP, 2, 1)), { passed: 3, failed: 3, flaky: [] });
  t.deepEqual(merged(first, counts(UP, 0, 0)), { passed: 3, failed: 3, flaky: [] });
  t.deepEqual(merged(new Map([[UP, { passed: 3, failed: 0 }]]), new Map()), {
    passed: 3,
    failed: 0,
    flaky: [],
  });
});

test('the time of a file lies between its last line and the last line before it', (t) => {
  const lines = [
    { at: 100, line: 'TAP version 13' },
    { at: 1500, line: 'ok 1 - faults › messages.real › bad ones' },
    { at: 4000, line: 'ok 2 - cli › up.real › it starts' },
    { at: 4100, line: '    at: ok 9 - not a line of its own' },
    { at: 9000, line: 'not ok 3 - cli › up.real › it ends' },
  ];
  t.deepEqual(slowestFiles(lines, 1000, exists, 1), [
    [UP, 7500],
    [MESSAGES, 500],
  ]);
});

test('of two files at a time, one begins when the first of both has ended', (t) => {
  const lines = [
    { at: 1500, line: 'ok 1 - faults › messages.real › bad ones' },
    { at: 4000, line: 'ok 2 - cli › up.real › it starts' },
    { at: 5000, line: 'ok 3 - faults › messages.real › good ones' },
    { at: 9000, line: 'ok 4 - cli › up.real › it ends' },
    { at: 9500, line: 'ok 5 - soak › soak.real › it lasts' },
  ];
  // Both of the first begin at 1000; the third begins at 5000.
  t.deepEqual(slowestFiles(lines, 1000, exists, 2), [
    [UP, 8000],
    [SOAK, 4500],
    [MESSAGES, 4000],
  ]);
});
