import { destination, type Logger, pino } from 'pino';

/** JSON lines on stderr, written at once: the last line before an end must not be lost. */
export function makeLogger(level: string, part: string): Logger {
  return pino({ level, base: { part } }, destination({ dest: 2, sync: true }));
}
