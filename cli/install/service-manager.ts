import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { errorClass } from '../../config/index.js';

/** systemd did not do what it was asked for. */
export class ServiceManagerError extends errorClass('GLN_SYSTEMD') {}

/** What is asked of systemd. */
export interface ServiceManager {
  reload(): void;
  /** Also at every boot. */
  enable(units: readonly string[]): void;
  restart(units: readonly string[]): void;
  /** Stops them, and not only for this boot. */
  disable(units: readonly string[]): void;
  isActive(unit: string): boolean;
}

/**
 * The longest that a stop may take: TimeoutStopSec of the hook's unit twice, for the stop and for
 * the restore after it, and a margin.
 */
export const SYSTEMCTL_TIMEOUT_MILLIS = 200_000;

const run = (args: readonly string[]) =>
  spawnSync('systemctl', args, { encoding: 'utf8', timeout: SYSTEMCTL_TIMEOUT_MILLIS });

function systemctl(...args: string[]): void {
  const { status, stderr, error } = run(args);
  if (status === 0) return;
  // Which of several it was, only their own words say.
  const units = args.filter((arg) => arg.endsWith('.service')).join(' -u ');
  throw new ServiceManagerError(args.join(' '), error?.message ?? stderr.trim(), units);
}

const systemd: ServiceManager = {
  reload: () => systemctl('daemon-reload'),
  enable: (units) => systemctl('enable', ...units),
  restart: (units) => systemctl('restart', ...units),
  disable: (units) => systemctl('disable', '--now', ...units),
  isActive: (unit) => run(['is-active', '--quiet', unit]).status === 0,
};

/** systemd of this host; null below another root, and where something else is the first process. */
export function serviceManagerOf(root: string): ServiceManager | null {
  return root === '/' && existsSync('/run/systemd/system') ? systemd : null;
}
