import { errorClass } from './errors.js';

/** One thing wrong with a configuration, told where it stands. */
export interface ConfigProblem {
  /** Dotted path of the key; empty for the file as a whole. */
  readonly path: string;
  readonly message: string;
  readonly value?: unknown;
  /** File, environment variable or flag it came from. */
  readonly source: string;
  /** 1-based; only in a file. */
  readonly line?: number;
}

/** Characters of a wrong value, and problems, that one message shows: a file may be anything. */
const SHOWN_MAX = 200;
const PROBLEMS_MAX = 20;

/** JSON has no word for a number like `.nan` or `.inf`. */
const shown = (value: unknown): string => {
  const text = typeof value === 'number' ? String(value) : JSON.stringify(value);
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text;
};

export function formatProblem(problem: ConfigProblem): string {
  const where = problem.line === undefined ? problem.source : `${problem.source}:${problem.line}`;
  const value = problem.value === undefined ? '' : ` (got ${shown(problem.value)})`;
  return `${where}: ${problem.path === '' ? '' : `${problem.path}: `}${problem.message}${value}`;
}

/** The configuration cannot be used; `problems` holds all that is wrong with it. */
export class ConfigError extends errorClass('GLN_CONFIG_INVALID') {
  readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[]) {
    super(
      problems.length === 1 ? '1 problem' : `${problems.length} problems`,
      [
        ...problems.slice(0, PROBLEMS_MAX).map((problem) => `  ${formatProblem(problem)}`),
        ...(problems.length > PROBLEMS_MAX ? [`  … ${problems.length - PROBLEMS_MAX} more`] : []),
      ].join('\n'),
    );
    this.problems = problems;
  }
}
