import { userInfo } from 'node:os';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { isFunctionName } from '../../broker/index.js';
import { reportProblem, UsageError } from '../../config/index.js';
import type { GlobalOptions, OutputFormat } from '../../runtime/index.js';

export interface OutputOptions {
  readonly output: OutputFormat;
}

export function addOutputOption(command: Command): Command {
  return command.addOption(
    new Option('-o, --output <format>', 'table for people, json for programs')
      .choices(['table', 'json'])
      .default('table'),
  );
}

/** The options of `gleaner` itself, seen from any command below it. */
export function globalOptions(command: Command): GlobalOptions {
  return command.optsWithGlobals<GlobalOptions>();
}

/** Who asks, for the audit log. */
export function author(): string {
  try {
    return `cli:${userInfo().username}`;
  } catch {
    return 'cli';
  }
}

/** An option's number of seconds. */
export function seconds(text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new InvalidArgumentError('must be a number of seconds above 0');
  return value;
}

/** An option's whole number above 0. */
export function wholeCount(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new InvalidArgumentError('must be a whole number above 0');
  return value;
}

/** Resolves at Ctrl-C, at SIGTERM, when the reader has gone, or after so many seconds. */
export function untilStopped(after?: number): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGINT', () => resolve());
    process.once('SIGTERM', () => resolve());
    process.stdout.on('error', () => resolve());
    if (after !== undefined) setTimeout(resolve, after * 1000);
  });
}

/** Says on stderr why an answer is empty. */
export function noHookAnswers(): void {
  reportProblem(
    'no hook answers',
    'start `gleaner up` or `gleaner hook` on these NATS servers, or ask others: --nats, --config',
  );
}

/** Says on stderr which hooks answered what cannot be read. */
export function warnUnreadable(lines: readonly string[]): void {
  for (const line of lines)
    reportProblem(
      line,
      'upgrade the older of the two: `gleaner status` shows the version of each part',
    );
}

/** Throws a UsageError where a name is given that no action can have. */
export function checkFunctionName(name: string | undefined): void {
  if (name === undefined || isFunctionName(name)) return;
  throw new UsageError(`'${name}' is not the name of an action`, {
    hint: 'write it as /namespace/package/action or /namespace/action',
  });
}
