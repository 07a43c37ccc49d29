import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { errorClass } from '../../config/index.js';

/** A systemctl command failed. */
class ServiceManagerError extends errorClass('GLN_SYSTEMD') {}

export interface ServiceManager {
  reload(): void;
  /** Starts the units at boot. */
  enable(units: readonly string[]): void;
  restart(units: readonly string[]): void;
  /** Stops the units, now and at boot. */
  disable(units: readonly string[]): void;
  isActive(unit: string): boolean;
}

/** The hook's unit may take 90 s each for stop and restore, and 180 s for the start. */
export const SYSTEMCTL_TIMEOUT_MILLIS = 400_000;

const run = (args: readonly string[]) =>
  spawnSync('systemctl', args, { encoding: 'utf8', timeout: SYSTEMCTL_TIMEOUT_MILLIS });

function systemctl(...args: string[]): void {
  const { status, stderr, error } = run(args);
  if (status === 0) return;
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

/** systemd of this host; null below another root, or without systemd. */
export function serviceManagerOf(root: string): ServiceManager | null {
  return root === '/' && existsSync('/run/systemd/system') ? systemd : null;
}
