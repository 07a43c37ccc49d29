import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import {
  type Config,
  errorClass,
  type LoadedConfig,
  loadConfig,
  messageOf,
  type SalvagedConfig,
  salvageConfig,
} from '../config/index.js';

export const SYSTEM_CONFIG = '/etc/gleaner/gleaner.yaml';

export interface GlobalOptions {
  readonly config?: string;
  /** Repeated `--set key=value`. */
  readonly set?: readonly string[];
  readonly nats?: string;
}

/** `--config`, else GLEANER_CONFIG, else /etc/gleaner/gleaner.yaml if it exists, else none. */
export function configPath(
  options: Pick<GlobalOptions, 'config'>,
  env: Readonly<Record<string, string | undefined>> = process.env,
): string | undefined {
  return (
    options.config ??
    (env.GLEANER_CONFIG || undefined) ??
    (existsSync(SYSTEM_CONFIG) ? SYSTEM_CONFIG : undefined)
  );
}

/** The folder of the file in use, where packages are looked for; else the working directory. */
export function configFolder(options: Pick<GlobalOptions, 'config'>): string {
  const file = configPath(options);
  return file === undefined ? process.cwd() : dirname(resolve(file));
}

/** `--set a.b=c` and the flags that are short for one key. */
export function flagsOf(
  options: GlobalOptions,
  shorthands: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const flags: Record<string, unknown> = {};
  for (const assignment of options.set ?? []) {
    const equals = assignment.indexOf('=');
    flags[equals < 0 ? assignment : assignment.slice(0, equals)] =
      equals < 0 ? '' : assignment.slice(equals + 1);
  }
  for (const [key, value] of Object.entries(shorthands))
    if (value !== undefined) flags[key] = value;
  if (options.nats !== undefined) flags['nats.servers'] = options.nats;
  return flags;
}

/** Reads the configuration as all commands do. Throws a ConfigError with every problem. */
export function loadSettings(
  options: GlobalOptions,
  shorthands: Readonly<Record<string, unknown>> = {},
): LoadedConfig {
  const loaded = loadConfig(inputsOf(options, shorthands));
  return { ...loaded, config: withPrefix(loaded.config) };
}

function inputsOf(options: GlobalOptions, shorthands: Readonly<Record<string, unknown>>) {
  const path = configPath(options);
  return {
    ...(path === undefined ? {} : { path }),
    env: process.env,
    flags: flagsOf(options, shorthands),
    readFile: (file: string) => readFileSync(file, 'utf8'),
  };
}

/** On platform `docker` only the shipped workload's containers: others there are not touched. */
const withPrefix = (config: Config): Config =>
  config.platform === 'docker'
    ? { ...config, hook: { ...config.hook, containerPrefix: config.simulator.prefix } }
    : config;

/** As {@link loadSettings}, but only flags throw: see {@link salvageConfig}. */
export function salvageSettings(
  options: GlobalOptions,
  shorthands: Readonly<Record<string, unknown>> = {},
): SalvagedConfig {
  const salvaged = salvageConfig(inputsOf(options, shorthands));
  return { ...salvaged, config: withPrefix(salvaged.config) };
}

export const ACTIONS_JOURNAL = 'actions.journal';

/** Files in the state folder, by their configured or usual names. */
export function statePaths(config: Config) {
  const folder = resolve(config.hook.stateDir);
  const at = (name: string): string => join(folder, name);
  return {
    folder,
    lock: at('hook.lock'),
    killSwitch: at('kill-switch'),
    audit: at('audit.jsonl'),
    modeAudit: at('audit-modes.jsonl'),
    limited: at('limited-containers'),
    actions: at(ACTIONS_JOURNAL),
    nats: at('nats'),
    logs: at('logs'),
    /** State of `gleaner up`. */
    running: at('up.json'),
  };
}

class StateFolderError extends errorClass('GLN_STATE_FOLDER') {
  constructor(folder: string, cause: unknown) {
    super(folder, messageOf(cause), cause);
  }
}

export function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new StateFolderError(folder, error);
  }
}
