import { type Config, messageOf, systemClock } from '../../config/index.js';
import {
  appendToAudit,
  type RestoreAuthor,
  restoreLines,
} from '../../openwhisk-plugin/daemon/index.js';
import { type RestoreReport, restoreAll } from '../../openwhisk-plugin/host/cgroup/index.js';
import { statePaths } from '../settings.js';
import { cgroupWriter, containerEngine } from './host-platform.js';

export interface RestoreSummary {
  /** Limits that stood otherwise and are the user's again. */
  readonly restored: number;
  readonly containers: number;
  readonly failed: number;
  /** Why the restored limits are not in the audit log; null: they are. */
  readonly auditError: string | null;
}

function summaryOf(
  { restored, failed }: RestoreReport,
  auditError: string | null = null,
): RestoreSummary {
  let changed = 0;
  for (const { shares, quota, memory } of restored)
    for (const result of [shares, quota, memory]) if (result === 'written') changed++;
  return { restored: changed, containers: restored.length, failed: failed.length, auditError };
}

/** systemd sets SERVICE_RESULT for ExecStopPost alone (systemd.exec(5)): the hook has ended. */
export function authorOfRestore(
  author: string,
  why: string,
  env: NodeJS.ProcessEnv,
): RestoreAuthor {
  return env.SERVICE_RESULT === undefined
    ? { who: `operator:${author}`, why }
    : { who: 'restore', why: HOOK_ENDED };
}

export const HOOK_ENDED = 'hook_ended';

/**
 * Restores the user limits of this host's containers without hook or NATS. Each change is in the
 * audit log; one that cannot be written delays no restore.
 */
export async function restoreHost(config: Config, by: RestoreAuthor): Promise<RestoreSummary> {
  // A simulated host is restored by its hook, or gone with it; this machine's engine is not its
  // own.
  if (config.platform === 'simulated')
    return { restored: 0, containers: 0, failed: 0, auditError: null };
  const engine = containerEngine(config.hook);
  const writer = cgroupWriter(await engine.facts());
  try {
    const report = await restoreAll({ engine, writer });
    return summaryOf(report, audited(config, report, by));
  } finally {
    await writer.close();
    await engine.stop();
  }
}

function audited(config: Config, report: RestoreReport, by: RestoreAuthor): string | null {
  const path = statePaths(config).audit;
  try {
    appendToAudit(path, restoreLines(report, by, systemClock.wall()));
    return null;
  } catch (error) {
    return `${path}: ${messageOf(error)}`;
  }
}
