import { messageOf } from '../config/index.js';
import { type BenchCommand, BenchUsageError, helpOf, parseBench } from './command-line.js';
import { type BenchRow, failureLines, json, table } from './report.js';
import { SUITES } from './suites.js';

/** `npm run bench -- SUITE… [options]`, `--help`: see command-line.ts. Progress goes to stderr. */
const logLine = (line: string): void => console.error(line);

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  let command: BenchCommand;
  try {
    command = parseBench(args, SUITES);
  } catch (error) {
    if (!(error instanceof BenchUsageError)) throw error;
    logLine(
      `bench: ${error.message}\n  \`npm run bench -- --help\` lists the suites, ` +
        '`npm run bench -- SUITE --help` the options of one',
    );
    if (args.length === 0) logLine(`\n${helpOf(SUITES, [])}`);
    return 2;
  }
  if ('help' in command) {
    console.log(command.help);
    return 0;
  }
  const rows: BenchRow[] = [];
  let stopped = false;
  try {
    for (const name of command.suites)
      rows.push(...(await SUITES[name]!.run(command.valuesOf(name), logLine)));
  } catch (error) {
    stopped = true;
    logLine(`bench: ${messageOf(error)}`);
  }
  if (rows.length > 0) console.log(command.output === 'json' ? json(rows) : table(rows));
  for (const line of failureLines(rows)) logLine(`bench: ${line}`);
  return stopped || rows.some(({ failed }) => failed) ? 1 : 0;
}
