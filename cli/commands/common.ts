import { type Command, Option } from 'commander';
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
