import { EXIT, type ExitCode, reportError, reportProblem } from '../config/index.js';
import { flushLog } from './logger.js';
import type { SystemdNotifier } from './notify.js';
import { processFaults } from './process-faults.js';

const STOP_MILLIS = 3000;
/** How long a stop waits for a start that is under way. */
const START_MILLIS = 10_000;
/** For a slow reader of the log: time for the lines that wait when the part has stopped. */
const FLUSH_MILLIS = 500;

/** A long-running part of Gleaner. */
export interface Running {
  stop(): Promise<void>;
  /** The process ends after this long even if `stop` has not; default 3 s. NATS may be away. */
  readonly stopMillis?: number;
  /** Address that it serves, for its supervisor. */
  readonly address?: string;
  /** SIGHUP. */
  reload?(): void;
  /** SIGUSR2: the kill switch. */
  kill?(): void;
}

/**
 * Ready is reported to the supervisor and to systemd; SIGTERM, SIGINT and the supervisor's end stop
 * the part, SIGHUP reloads; what comes during the start is done after it. An uncaught exception
 * stops it, too, with exit code 1. Never returns.
 */
export async function runAsProcess(
  start: () => Promise<Running>,
  systemd: SystemdNotifier | null = null,
): Promise<void> {
  let running: Running | null = null;
  let stopping = false;
  let stopRequested = false;
  let code: ExitCode = EXIT.ok;
  let deadline: NodeJS.Timeout | undefined;
  const endAfter = (millis: number, what: 'start' | 'stop'): void => {
    clearTimeout(deadline);
    deadline = setTimeout(() => {
      reportProblem(
        `the ${what} has not ended within ${millis / 1000} s of the signal`,
        'the process ends without it; the log may say what it waited for',
      );
      process.exit(EXIT.failed);
    }, millis);
  };
  const stop = (): void => {
    if (running === null) {
      if (!stopRequested) endAfter(START_MILLIS, 'start');
      stopRequested = true;
      return;
    }
    if (stopping) return;
    stopping = true;
    systemd?.stopping();
    endAfter((running.stopMillis ?? STOP_MILLIS) + FLUSH_MILLIS, 'stop');
    running.stop().then(
      () => end(code),
      (error) => end(reportError(error)),
    );
  };
  processFaults.install((error) => {
    code = EXIT.failed;
    if (running === null) void end(reportError(error));
    else stop();
  });
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  process.on('disconnect', stop);
  /** What signals asked for during the start, in their order. */
  const early: ((part: Running) => void)[] = [];
  const onRunning = (act: (part: Running) => void): void => {
    if (running === null) early.push(act);
    else act(running);
  };
  const reload = (part: Running): void => {
    systemd?.reloading();
    part.reload?.();
    systemd?.ready('running');
  };
  process.on('SIGHUP', () => onRunning(reload));
  process.on('SIGUSR2', () => onRunning((part) => part.kill?.()));
  try {
    running = await start();
  } catch (error) {
    await end(reportError(error));
    return;
  }
  process.send?.({
    ready: true,
    ...(running.address === undefined ? {} : { address: running.address }),
  });
  systemd?.ready('running');
  for (const act of early) act(running);
  if (stopRequested) stop();
}

/** What was logged is given to its reader first, as far as it takes it. */
async function end(code: ExitCode): Promise<never> {
  await flushLog(FLUSH_MILLIS);
  process.exit(code);
}
