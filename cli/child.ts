import { EXIT, reportError } from './exit.js';
import type { SystemdNotifier } from './notify.js';

const STOP_MILLIS = 3000;

/** What a long-running part offers to whoever runs it. */
export interface Running {
  stop(): Promise<void>;
  /** The process ends after this long even where `stop` has not; default 3 s. What NATS holds may be unreachable for ever. */
  readonly stopMillis?: number;
  /** Where it can be reached, for whoever runs it. */
  readonly address?: string;
  /** SIGHUP. */
  reload?(): void;
  /** SIGUSR2: the kill switch. */
  kill?(): void;
}

/**
 * Runs one part as a process: ready is told to the supervisor (and to systemd, where it asks), SIGTERM, SIGINT and a supervisor that vanished stop it, SIGHUP
 * reloads. Never returns; the process ends with the code.
 */
export async function runAsProcess(
  start: () => Promise<Running>,
  systemd: SystemdNotifier | null = null,
): Promise<void> {
  let running: Running | null = null;
  let stopping: Promise<void> | null = null;
  let wanted = false;
  const stop = (): void => {
    wanted = true;
    if (!running || stopping) return;
    systemd?.stopping();
    setTimeout(() => process.exit(EXIT.failed), running.stopMillis ?? STOP_MILLIS);
    stopping = running.stop().then(
      () => process.exit(EXIT.ok),
      (error) => process.exit(reportError(error, (text) => process.stderr.write(text))),
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  process.on('disconnect', stop);
  process.on('SIGHUP', () => {
    systemd?.reloading();
    running?.reload?.();
    systemd?.ready('running');
  });
  process.on('SIGUSR2', () => running?.kill?.());
  try {
    running = await start();
  } catch (error) {
    process.exit(reportError(error, (text) => process.stderr.write(text)));
  }
  process.send?.({ ready: true, ...(running.address === undefined ? {} : { address: running.address }) });
  systemd?.ready('running');
  if (wanted) stop();
}
