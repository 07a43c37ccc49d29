import { type Command, Option } from 'commander';
import { isFunctionName } from '../../broker/index.js';
import { UsageError } from '../exit.js';
import type { OutputFormat } from '../output.js';
import type { GlobalOptions } from '../settings.js';

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

/** Says on stderr why an answer is empty. */
export function noHookAnswers(): void {
  process.stderr.write('gleaner: no hook answers; does `gleaner up` or `gleaner hook` run on these NATS servers?\n');
}

/** Throws a UsageError where a name is given that no action can have. */
export function checkFunctionName(name: string | undefined): void {
  if (name === undefined || isFunctionName(name)) return;
  throw new UsageError(`'${name}' is not the name of an action`, {
    hint: 'write it as /namespace/package/action or /namespace/action',
  });
}
