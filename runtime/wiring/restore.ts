import { type Config, messageOf, systemClock } from '../../config/index.js';
import {
  appendToAudit,
  type RestoreAuthor,
  readLimitedContainers,
  restoreLines,
} from '../../openwhisk-plugin/daemon/index.js';
import {
  type RestoreReport,
  restoreAll,
  unrestored,
} from '../../openwhisk-plugin/host/cgroup/index.js';
import { statePaths } from '../settings.js';
import { cgroupWriter, containerEngine } from './host-platform.js';

export interface RestoreSummary {
  /** Containers of which a limit stood otherwise and is the user's again. */
  readonly restored: number;
  /** Containers whose limits were read. */
  readonly examined: number;
  /** Containers that may not have their user limits, by name and with the reason. */
  readonly notRestored: readonly string[];
  /** Why the restored limits are not in the audit log; null: they are. */
  readonly auditError: string | null;
}

function summaryOf(report: RestoreReport, auditError: string | null): RestoreSummary {
  const { restored, unlisted } = report;
  const changed = restored.filter((one) =>
    [one.shares, one.quota, one.memory, one.protection].includes('written'),
  );
  const notRestored = unrestored(report).map(({ name, reason }) => `${name} (${reason})`);
  if (unlisted > 0) notRestored.push(`${unlisted} entries of the engine's list cannot be read`);
  return { restored: changed.length, examined: restored.length, notRestored, auditError };
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
    return { restored: 0, examined: 0, notRestored: [], auditError: null };
  const { limited, ids } = limitedContainers(config);
  const engine = containerEngine(config.hook);
  const writer = cgroupWriter(await engine.facts());
  try {
    const report = await restoreAll({ engine, writer }, ids);
    const summary = summaryOf(report, audited(config, report, by));
    if (limited === null) return summary;
    return { ...summary, notRestored: [...summary.notRestored, limited] };
  } finally {
    await writer.close();
    await engine.stop();
  }
}

/** Containers in the hook's file; without it, they are found by their names only. */
function limitedContainers(config: Config): { ids: Set<string>; limited: string | null } {
  const path = statePaths(config).limited;
  try {
    return { ids: readLimitedContainers(path), limited: null };
  } catch (error) {
    return { ids: new Set(), limited: `${path} cannot be read (${messageOf(error)})` };
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
