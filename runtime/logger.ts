import { type Logger, pino } from 'pino';
import { type LineOutput, linesOf } from './line-output.js';

/** What a stalled reader of stderr may be behind. */
const MAX_BACKLOG = 1024 * 1024;
const WARN = 40;

let output: LineOutput | null = null;

/** JSON lines on stderr, written at once; a stalled reader costs lines, never the part. */
export function makeLogger(level: string, part: string): Logger {
  output ??= linesOf(process.stderr, MAX_BACKLOG, (dropped) => {
    const msg = 'log lines were dropped: the reader of stderr did not take them';
    const line = { level: WARN, time: Date.now(), part, event: 'log_lines_dropped', dropped, msg };
    return `${JSON.stringify(line)}\n`;
  });
  return pino({ level, base: { part } }, output);
}

export const logLines = (): Pick<LineOutput, 'written' | 'dropped'> =>
  output ?? { written: 0, dropped: 0 };

/** Before the process ends: gives the reader so long to take what waits. */
export const flushLog = async (maxMillis: number): Promise<void> => output?.flush(maxMillis);
