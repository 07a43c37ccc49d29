import type { BenchRow } from './report.js';

export interface SuiteOption {
  readonly kind: 'number' | 'text' | 'list' | 'flag';
  readonly describes: string;
  readonly default?: number | string;
  /** Values that a list may hold, or the text may be. */
  readonly among?: readonly string[];
}

/** The values of a suite's options. */
interface SuiteValues {
  /** NaN if it has neither a value nor a default. */
  number(name: string): number;
  text(name: string): string | undefined;
  /** All possible values by default. */
  list(name: string): readonly string[];
  flag(name: string): boolean;
}

interface Suite {
  /** One line: what is measured. */
  readonly describes: string;
  /** What the machine must have. */
  readonly needs: string;
  readonly options: Readonly<Record<string, SuiteOption>>;
  run(values: SuiteValues, log: (line: string) => void): Promise<BenchRow[]>;
}

export type Suites = Readonly<Record<string, Suite>>;

/** Wrong usage; the message names the problem. */
export class BenchUsageError extends Error {}

export type BenchCommand =
  | { readonly help: string }
  | {
      readonly suites: readonly string[];
      readonly output: 'table' | 'json';
      /** Of one of the suites: each has defaults of its own. */
      readonly valuesOf: (suite: string) => SuiteValues;
    };

/** Options of commands that were written down for earlier versions. */
const RENAMED: Readonly<Record<string, string>> = { calls: 'activations' };

const USAGE = 'usage: npm run bench -- SUITE… [options] [--output table|json]';

/** The text of `--help`: all suites with a line each, or the named ones with their options. */
export function helpOf(suites: Suites, names: readonly string[]): string {
  const widest = Math.max(...Object.keys(suites).map((name) => name.length));
  if (names.length === 0) {
    const lines = Object.entries(suites).map(
      ([name, { describes }]) => `  ${name.padEnd(widest)}  ${describes}`,
    );
    return [
      USAGE,
      '',
      ...lines,
      '',
      '`npm run bench -- SUITE --help` lists the options of a suite.',
    ].join('\n');
  }
  return names
    .map((name) => {
      const { describes, needs, options } = suites[name]!;
      const lines = Object.entries(options).map(([option, about]) => {
        const shape = `--${option}${about.kind === 'flag' ? '' : ` ${placeholder(about)}`}`;
        const normal = about.default === undefined ? '' : ` (default ${about.default})`;
        return `  ${shape.padEnd(24)}  ${about.describes}${normal}`;
      });
      return [
        `usage: npm run bench -- ${name} [options]`,
        '',
        describes,
        `Needs: ${needs}.`,
        '',
        'Options:',
        ...lines,
        `  ${'--output table|json'.padEnd(24)}  how results are printed (default table)`,
        '',
        'Exit code: 0; 1 if a precondition does not hold, a promise is broken or the bench ' +
          'failed; 2 for wrong usage.',
      ].join('\n');
    })
    .join('\n\n');
}

const placeholder = ({ kind, among }: SuiteOption): string =>
  among !== undefined ? among.join(kind === 'list' ? ',' : '|') : kind === 'number' ? 'N' : 'TEXT';

/** Throws {@link BenchUsageError}. */
export function parseBench(args: readonly string[], suites: Suites): BenchCommand {
  const names: string[] = [];
  const given = new Map<string, string>();
  let help = false;
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]!;
    if (arg === '--help' || arg === '-h') help = true;
    else if (!arg.startsWith('-')) names.push(arg);
    else {
      const [typed, value] = split(arg);
      const option = RENAMED[typed] ?? typed;
      if (!isOption(suites, option)) throw new BenchUsageError(`there is no option --${option}`);
      const flag =
        option !== 'output' &&
        Object.values(suites).some((suite) => suite.options[option]?.kind === 'flag');
      if (flag && value !== undefined) throw new BenchUsageError(`--${option} takes no value`);
      const found = flag ? 'true' : (value ?? args[++i]);
      if (found === undefined) throw new BenchUsageError(`--${option} needs a value`);
      given.set(option, found);
    }
  }
  for (const name of names)
    if (!Object.hasOwn(suites, name))
      throw new BenchUsageError(`there is no suite '${name}': ${Object.keys(suites).join(', ')}`);
  if (help) return { help: helpOf(suites, names) };
  if (names.length === 0) throw new BenchUsageError('name a suite');
  const output = given.get('output') ?? 'table';
  if (output !== 'table' && output !== 'json')
    throw new BenchUsageError(`--output ${output}: not table or json`);
  for (const option of given.keys())
    if (option !== 'output' && !names.some((name) => suites[name]!.options[option] !== undefined))
      throw new BenchUsageError(`${names.join(', ')} has no option --${option}`);
  for (const name of names)
    for (const [option, about] of Object.entries(suites[name]!.options))
      if (given.has(option)) checkValue(option, given.get(option)!, about);
  return { suites: names, output, valuesOf: (name) => valuesOf(given, suites[name]!.options) };
}

function split(arg: string): readonly [string, string | undefined] {
  const text = arg.replace(/^-+/, '');
  const equals = text.indexOf('=');
  return equals < 0 ? [text, undefined] : [text.slice(0, equals), text.slice(equals + 1)];
}

const isOption = (suites: Suites, option: string): boolean =>
  option === 'output' ||
  Object.values(suites).some((suite) => Object.hasOwn(suite.options, option));

function checkValue(option: string, text: string, { kind, among }: SuiteOption): void {
  if (kind === 'number' && !(Number(text) > 0))
    throw new BenchUsageError(`--${option} ${text}: not a number above 0`);
  if (among === undefined) return;
  const wrong = (kind === 'list' ? text.split(',') : [text]).find((each) => !among.includes(each));
  if (wrong !== undefined)
    throw new BenchUsageError(`--${option} ${wrong}: not one of ${among.join(', ')}`);
}

const valuesOf = (
  given: ReadonlyMap<string, string>,
  options: Readonly<Record<string, SuiteOption>>,
): SuiteValues => ({
  number: (name) => Number(given.get(name) ?? options[name]?.default ?? Number.NaN),
  text: (name) => given.get(name) ?? (options[name]?.default as string | undefined),
  list: (name) => given.get(name)?.split(',') ?? options[name]?.among ?? [],
  flag: (name) => given.has(name),
});
