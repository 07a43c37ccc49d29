/** What AVA's TAP output says, by test file. */

const LINE = /^(not )?ok \d+ - (.*?)( # (?:SKIP|TODO).*)?$/;
const EXITED = /(?:^|\s)(dist\/test\/\S+\.test\.js)\b/;

/**
 * The file that a line's title begins with (`cli › up.real › title` is
 * dist/test/cli/up.real.test.js), or that it names; null: none. `exists` tells which files there
 * are.
 */
function fileOf(title, exists) {
  const named = EXITED.exec(title)?.[1];
  if (named !== undefined) return named;
  const parts = title.split(' › ');
  for (let count = parts.length - 1; count > 0; count--) {
    const file = `dist/test/${parts.slice(0, count).join('/')}.test.js`;
    if (exists(file)) return file;
  }
  return null;
}

/**
 * Passed and failed tests by file. What is skipped is neither. A failure that names no file (an
 * uncaught exception) belongs to the next one that does, for that is AVA's line about the
 * end of its process; if none follows it is under `null`.
 */
export function resultsByFile(output, exists) {
  const files = new Map();
  const of = (file) => {
    const entry = files.get(file) ?? { passed: 0, failed: 0 };
    files.set(file, entry);
    return entry;
  };
  let nameless = 0;
  for (const line of output.split('\n')) {
    const match = LINE.exec(line);
    if (!match || match[3] !== undefined) continue;
    const [, not, title] = match;
    const file = fileOf(title, exists);
    if (not === undefined) of(file).passed++;
    else if (file === null) nameless++;
    else {
      of(file).failed += 1 + nameless;
      nameless = 0;
    }
  }
  if (nameless > 0) of(null).failed += nameless;
  return files;
}

/**
 * Counts of a run and of the second run of its failed files: a file's second result takes the place
 * of its first one. `flaky` are the files that failed once only.
 */
export function merged(first, second) {
  let passed = 0;
  let failed = 0;
  const flaky = [];
  for (const [file, once] of first) {
    const again = second.get(file);
    // A file that says nothing the second time has not passed.
    const counts =
      once.failed > 0 && again !== undefined && again.passed + again.failed > 0 ? again : once;
    passed += counts.passed;
    failed += counts.failed;
    if (once.failed > 0 && counts.failed === 0) flaky.push(file);
  }
  return { passed, failed, flaky };
}

/**
 * Milliseconds that each file took, the slowest first: from the end of the file before it to its
 * own last line. `concurrency`: files at a time. `lines`: as they came, with the time.
 */
export function slowestFiles(lines, begun, exists, concurrency) {
  // In the order of their first lines.
  const ended = new Map();
  for (const { at, line } of lines) {
    const title = LINE.exec(line)?.[2];
    const file = title === undefined ? null : fileOf(title, exists);
    if (file !== null) ended.set(file, at);
  }
  const free = new Array(concurrency).fill(begun);
  const took = [...ended].map(([file, end]) => {
    const first = free.indexOf(Math.min(...free));
    const begin = free[first];
    free[first] = end;
    return [file, end - begin];
  });
  return took.sort((a, b) => b[1] - a[1]);
}
