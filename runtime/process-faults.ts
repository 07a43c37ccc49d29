import { type Logger, RateLimitedLog } from '../broker/index.js';
import { messageOf } from '../config/index.js';

/** Faults that no part of the code has caught, by their event's name in the log. */
type ProcessFault = 'unhandled_rejection' | 'uncaught_exception';

/**
 * After a rejection that no code awaits the part goes on; after an exception it cannot be told what
 * is half done, so the part restores every limit and ends. Both are logged and counted.
 */
class ProcessFaults {
  readonly counts: Record<ProcessFault, number> = { unhandled_rejection: 0, uncaught_exception: 0 };
  /** The first uncaught exception, which ends the process; null: there is none. */
  fatal: string | null = null;
  #log: RateLimitedLog | null = null;

  /** Where they are told from now on; on stderr before. */
  logTo(logger: Logger): void {
    this.#log = new RateLimitedLog(logger);
  }

  /** `end`: called after an exception; more may follow while the process ends. */
  install(end: (error: unknown) => void): void {
    process.on('unhandledRejection', (reason) => this.#report('unhandled_rejection', reason));
    process.on('uncaughtException', (error) => {
      this.fatal ??= messageOf(error);
      this.#report('uncaught_exception', error);
      end(error);
    });
  }

  #report(event: ProcessFault, error: unknown): void {
    this.counts[event]++;
    const stack = error instanceof Error ? error.stack : undefined;
    const text =
      event === 'unhandled_rejection'
        ? 'a failure was not handled; the part goes on'
        : 'stopping after a fault';
    if (this.#log !== null)
      this.#log.error(event, performance.now(), { event, error: messageOf(error), stack }, text);
    else process.stderr.write(`gleaner: ${event}: ${stack ?? messageOf(error)}\n`);
  }
}

/** A process has one. */
export const processFaults = new ProcessFaults();
