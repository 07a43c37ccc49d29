import { keysOf, setAt, valueAt } from './keys.js';
import { type Config, configSchema } from './schema.js';

export interface ConfigChange {
  readonly path: string;
  readonly before: unknown;
  readonly after: unknown;
  /** False: the change takes effect at the next restart. */
  readonly reloadable: boolean;
}

export function diffConfig(before: Config, after: Config): ConfigChange[] {
  const changes: ConfigChange[] = [];
  for (const { path, reload } of keysOf(configSchema)) {
    const [old, now] = [valueAt(before, path), valueAt(after, path)];
    if (JSON.stringify(old) === JSON.stringify(now)) continue;
    changes.push({ path: path.join('.'), before: old, after: now, reloadable: reload });
  }
  return changes;
}

/** The running configuration with the reloadable changes in it; the others wait for a restart. */
function withReloadable(current: Config, changes: readonly ConfigChange[]): Config {
  const next = structuredClone(current);
  for (const { path, reloadable, after } of changes)
    if (reloadable) setAt(next, path.split('.'), after);
  return next;
}

export interface Reload {
  /** What is in force from now on; the old one where the new one has an error. */
  readonly config: Config;
  readonly applied: readonly ConfigChange[];
  readonly needRestart: readonly ConfigChange[];
  readonly error: unknown;
}

/** SIGHUP: applies what can change while running; keeps the old configuration on any error. */
export function reloadConfig(current: Config, load: () => Config): Reload {
  let loaded: Config;
  try {
    loaded = load();
  } catch (error) {
    return { config: current, applied: [], needRestart: [], error };
  }
  const changes = diffConfig(current, loaded);
  return {
    config: withReloadable(current, changes),
    applied: changes.filter((change) => change.reloadable),
    needRestart: changes.filter((change) => !change.reloadable),
    error: null,
  };
}
