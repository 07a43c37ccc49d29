import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { EXIT, errorClass, messageOf } from '../../config/index.js';
import {
  coreLimit,
  left,
  loadSettings,
  localTime,
  mebibytesText,
  right,
  statePaths,
} from '../../runtime/index.js';
import { linesFromEnd } from '../support/lines-from-end.js';
import {
  addOutputOption,
  checkFunctionName,
  globalOptions,
  type OutputOptions,
  printTable,
  wholeNumber,
} from './common.js';

interface AuditOptions extends OutputOptions {
  readonly last: number;
  readonly function?: string;
  readonly who?: string;
  readonly modes: boolean;
}

interface AuditLine {
  readonly at?: string | number;
  readonly who?: string;
  readonly why?: string;
  readonly resource?: string;
  readonly action?: string;
  readonly name?: string;
  readonly old?: number;
  readonly new?: number;
  readonly result?: string;
  readonly reason?: string;
}

export class AuditMissingError extends errorClass('GLN_AUDIT_MISSING') {
  constructor(path: string, cause?: unknown) {
    const reason = cause === undefined ? '' : `: ${messageOf(cause)}`;
    super(path, reason, cause);
  }
}

/** Null: no record, such as the newest line while it is written. */
function parsed(text: string): AuditLine | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

/** The newest `most` lines of the log and its rotated files that pass, newest last. */
export function readAudit(
  path: string,
  most: number,
  passes: (line: AuditLine) => boolean,
): AuditLine[] {
  const files = [path];
  while (existsSync(`${path}.${files.length}`)) files.push(`${path}.${files.length}`);
  if (!existsSync(path) && files.length === 1) throw new AuditMissingError(path);
  const found: AuditLine[] = [];
  for (const file of files) {
    try {
      if (!existsSync(file)) continue;
      for (const text of linesFromEnd(file)) {
        const line = parsed(text);
        if (line !== null && passes(line)) found.push(line);
        if (found.length >= most) return found.reverse();
      }
    } catch (error) {
      throw new AuditMissingError(file, error);
    }
  }
  return found.reverse();
}

function amount({ resource }: AuditLine, value: number | undefined): string {
  if (value === undefined) return '-';
  if (resource === 'cpu.quota') return coreLimit(value);
  return resource?.startsWith('memory') ? `${mebibytesText(value)} MiB` : String(Math.round(value));
}

export function addCommands(program: Command): void {
  const command = program
    .command('audit')
    .description('show the limits written on this host with their reasons, from its audit log')
    .option('-n, --last <count>', 'number of lines', wholeNumber, 20)
    .option('--function <name>', 'only of this function')
    .option(
      '--who <text>',
      'only authors with this prefix: operator (such as operator:dashboard), safeguard, policy, ' +
        'agent, boost, loan, pool, lender, restore, restart, drift, kernel, mode, kill_switch, ' +
        'configuration, annotations',
    )
    .option(
      '--modes',
      'only changes of mode, pauses and the kill switch, from a file of their own that keeps the ' +
        'last thousands of them',
      false,
    );
  addOutputOption(command).action((options: AuditOptions) => {
    checkFunctionName(options.function);
    const { audit, modeAudit } = statePaths(loadSettings(globalOptions(command)).config);
    const passes = (line: AuditLine): boolean =>
      (options.function === undefined || line.action === options.function) &&
      (options.who === undefined || String(line.who ?? '').startsWith(options.who));
    // The hook makes this file at the first change.
    const isEmpty = options.modes && existsSync(audit) && !existsSync(modeAudit);
    const lines = isEmpty ? [] : readAudit(options.modes ? modeAudit : audit, options.last, passes);
    printTable(options.output, lines, lines, [
      left('at', (row) => localTime(Date.parse(String(row.at ?? '')) * 1000)),
      left('who', (row) => row.who ?? '-'),
      left('why', ({ why = '-', reason }) => (reason === undefined ? why : `${why}: ${reason}`)),
      // `restore --local` knows containers only; the hook knows their functions.
      left('function', (row) => row.action ?? row.name ?? '-'),
      left('resource', (row) => row.resource ?? '-'),
      right('old', (row) => amount(row, row.old)),
      right('new', (row) => amount(row, row.new)),
      left('result', (row) => row.result ?? '-'),
    ]);
    process.exitCode = EXIT.ok;
  });
}
