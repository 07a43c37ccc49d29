/**
 * Mutants that no test can tell from the original, with the reason. `npm run mutation` leaves them
 * out of the score (in its table they are the errors). Each row: compiled file under `dist/`, code,
 * what the mutant has in its place, the line that it is in, reason.
 */
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

const EQUIVALENT = [
  {
    file: 'broker/mean-field/aggregator.js',
    line: 'if (now === this.#lastExpiryCheck)',
    code: 'now === this.#lastExpiryCheck',
    mutant: 'false',
    reason: 'saves a second search at the same time, which finds nothing',
  },
];

/** GLEANER_MUTATION_EVERY=5 runs each fifth mutant: a sample, where all take too long. */
const EVERY = Number(process.env.GLEANER_MUTATION_EVERY ?? 1);

/** The code at a mutant's place, in one line, and the whole line that it begins in. */
function codeAt(source, { start, end }) {
  const lines = source.split('\n').slice(start.line, end.line + 1);
  const line = lines[0].trim();
  lines.push(lines.pop().slice(0, end.column));
  lines[0] = lines[0].slice(start.column);
  return { line, code: lines.join('\n') };
}

class Equivalents {
  async init() {}

  async check(mutants) {
    return Object.fromEntries(
      mutants.map(({ id, fileName, location, replacement }) => {
        if (Number(id) % EVERY > 0) return [id, { status: 'compileError', reason: 'not sampled' }];
        const { line, code } = codeAt(readFileSync(fileName, 'utf8'), location);
        const file = relative('dist', fileName);
        const row = EQUIVALENT.find(
          (one) =>
            file.endsWith(one.file) &&
            one.line === line &&
            one.code === code &&
            one.mutant === replacement,
        );
        if (row === undefined) return [id, { status: 'passed' }];
        return [id, { status: 'compileError', reason: `equivalent: ${row.reason}` }];
      }),
    );
  }
}

/** Log lines decide nothing. */
const logCalls = {
  shouldIgnore({ node }) {
    const isLog =
      node.type === 'CallExpression' &&
      node.callee.type === 'MemberExpression' &&
      node.callee.object.name === 'logger';
    return isLog ? 'a log line' : undefined;
  },
};

export const strykerPlugins = [
  { kind: 'Checker', name: 'equivalents', injectableClass: Equivalents },
  { kind: 'Ignore', name: 'log-calls', value: logCalls },
];
