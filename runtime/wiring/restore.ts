import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Config, messageOf, type SalvagedConfig, systemClock } from '../../config/index.js';
import {
  appendToAudit,
  type RestoreAuthor,
  readLimitedContainers,
  recordedSettings,
  restoreLines,
} from '../../openwhisk-plugin/daemon/index.js';
import {
  type RestoreReport,
  restoreAll,
  unrestored,
} from '../../openwhisk-plugin/host/cgroup/index.js';
import { runningUp } from '../running-up.js';
import {
  configPath,
  flagsOf,
  type GlobalOptions,
  SYSTEM_CONFIG,
  salvageSettings,
  statePaths,
} from '../settings.js';
import { cgroupWriter, containerEngine } from './host-platform.js';

/** What a hook may have left limits on, and where its state is. */
export interface RestorePlace {
  readonly config: Config;
  /** Where the settings are from, for a person. */
  readonly source: string;
  /** `recorded`: otherwise than configured. `guessed`: the state folder may be another one. */
  readonly trust: 'configured' | 'recorded' | 'guessed';
}

export interface RestoreSettings {
  /** What is wrong with the configuration; null: nothing. */
  readonly error: SalvagedConfig['error'];
  /** Several if hooks with this file ran on several engines; the newest first. */
  readonly places: readonly [RestorePlace, ...RestorePlace[]];
}

export const placeText = ({ config: { platform, hook } }: RestorePlace): string =>
  `platform ${platform}, engine ${hook.engineSocket}, state folder ${hook.stateDir}`;

/** Settings of the hook with this state folder if they are not as configured; null: they are. */
export function otherSettings({ places }: RestoreSettings, stateDir: string): string | null {
  // A hook on another engine has another folder. Of one folder the newest is the one that runs.
  const own = places.find(({ config }) => resolve(config.hook.stateDir) === resolve(stateDir));
  return own?.trust === 'recorded' ? placeText(own) : null;
}

/**
 * The configuration for a restore, which no problem of the file or the environment may prevent: a
 * hook that was killed may have left limits. What it recorded comes first, as a file that was cut
 * or removed says nothing; without a record, those keys that can be read. Throws a ConfigError for
 * flags only.
 */
export function settingsForRestore(options: GlobalOptions): RestoreSettings {
  const settings = settingsWith(options, {});
  const [{ config, trust }] = settings.places;
  // A `gleaner up` that runs may have been started with `--platform`.
  const platform = runningUp(statePaths(config).running)?.platform;
  const isOther = platform !== config.platform || trust === 'recorded';
  if (platform === undefined || !isOther || 'platform' in flagsOf(options)) return settings;
  return settingsWith(options, { platform });
}

function settingsWith(
  options: GlobalOptions,
  shorthands: Readonly<Record<string, unknown>>,
): RestoreSettings {
  const path = configPath(options);
  const { config, error, ignored } = salvageSettings(options, shorthands);
  const flags = flagsOf(options, shorthands);
  const named = path === undefined ? DEFAULTS : `configuration ${path}`;
  const configured = { config, source: named, trust: 'configured' } as const;
  const records = recordsFor(path, config, error !== null);
  const engine = flags['hook.engineSocket'];
  const ofEngine = records.filter(({ hook }) => !engine || hook.engineSocket === engine);
  // A record stays if its hook was killed, also when its engine is gone for good.
  const ofLiving = ofEngine.filter(({ hook }) => existsSync(hook.engineSocket));
  const known = ofLiving.length > 0 ? ofLiving : ofEngine;
  const used = known.length > 0 ? known : records.slice(0, 1);
  const [first, ...others] = used.map((record) => {
    const hook = withoutFlags(record.hook, flags);
    const platform = 'platform' in flags ? config.platform : record.platform;
    const recorded = { ...config, platform, hook: { ...config.hook, ...hook } };
    const source = `settings of the hook that ran with ${record.configFile ?? 'no configuration'}`;
    return error === null && isSameHost(config, recorded)
      ? configured
      : ({ config: recorded, source, trust: 'recorded' } as const);
  });
  if (first !== undefined) return { error, places: [first, ...others] };
  if (error === null) return { error, places: [configured] };
  const file = path ?? 'the configuration';
  const instead = ignored.length === 0 ? '' : ` (its values in place of ${ignored.join(', ')})`;
  const source = `what can be read of ${file}${instead}, defaults for the rest`;
  // The path of a problem of the whole file is empty.
  const isUnknown = error.problems.some(({ path: key }) => 'hook.stateDir'.startsWith(key));
  const trust = isUnknown && !('hook.stateDir' in flags) ? 'guessed' : 'configured';
  return { error, places: [{ config, source, trust }] };
}

const DEFAULTS = 'default configuration; for another use --config';

function recordsFor(path: string | undefined, config: Config, isDamaged: boolean) {
  if (path !== undefined) return recordedSettings(resolve(path), config);
  // The usual file may have been removed since.
  const usual = recordedSettings(SYSTEM_CONFIG, config);
  return usual.length === 0 && isDamaged ? recordedSettings(null, config) : usual;
}

const withoutFlags = <T extends object>(hook: T, flags: object): Partial<T> =>
  Object.fromEntries(
    Object.entries(hook).filter(([key]) => !(`hook.${key}` in flags)),
  ) as Partial<T>;

const isSameHost = (one: Config, other: Config): boolean =>
  one.platform === other.platform &&
  resolve(one.hook.stateDir) === resolve(other.hook.stateDir) &&
  one.hook.engine === other.hook.engine &&
  one.hook.engineSocket === other.hook.engineSocket &&
  one.hook.containerPrefix === other.hook.containerPrefix;

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
