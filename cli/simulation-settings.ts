import { readFileSync } from 'node:fs';
import {
  type Config,
  isManagerModule,
  type LoadedConfig,
  loadConfig,
  UsageError,
} from '../config/index.js';
import { type Contender, configuredContender } from '../experiments/compare/index.js';
import { decisionSettings, defaultDecisionSettings } from '../openwhisk-plugin/decision/index.js';
import { flagsOf, type GlobalOptions } from '../runtime/index.js';
import type { SimulatedSettings } from '../simulator/engine/index.js';

/** Keys below `decision` without a counterpart in the model: tap, containers, host memory. */
const NOT_SIMULATED: ReadonlySet<string> = new Set([
  'decision.boost.enabled',
  'decision.memory.invokerMemoryMiB',
]);

const isManagerKey = (key: string): boolean =>
  key === 'agents.manager' || key.startsWith('decision.policy.');

const isSimulated = (key: string): boolean =>
  isManagerKey(key) || (key.startsWith('decision.') && !NOT_SIMULATED.has(key));

/** The part of a configuration that a simulation uses. */
export interface SimulationSettings {
  /** Absent: the defaults. */
  readonly settings?: SimulatedSettings;
  /** With the configured manager and policies; absent: none configured. */
  readonly configured?: Config;
  /** Keys of the file without effect. */
  readonly ignored: readonly string[];
}

/**
 * Reads `--config` and `--set` for a simulation. The environment and /etc/gleaner are ignored, so
 * that the same command gives the same figures on every machine.
 *
 * @throws ConfigError, or UsageError for `--set` of a key that a simulation does not have
 */
export function simulationSettings({ config: path, set }: GlobalOptions): SimulationSettings {
  const flags = flagsOf({ set });
  const loaded = loadConfig({
    ...(path === undefined ? {} : { path }),
    flags,
    readFile: (file) => readFileSync(file, 'utf8'),
  });
  const foreign = Object.keys(flags).filter((key) => !isSimulated(key));
  if (foreign.length > 0)
    throw new UsageError(`--set ${foreign.join(', ')}: does not apply to a simulation`, {
      hint: 'use agents.manager or the keys below decision (docs/reference/config.md)',
    });
  return settingsOf(loaded);
}

function settingsOf({ config, sources }: LoadedConfig): SimulationSettings {
  const keys = [...sources.keys()];
  return {
    ...(keys.some((key) => isSimulated(key) && !isManagerKey(key))
      ? { settings: decisionOf(config) }
      : {}),
    ...(keys.some(isManagerKey) ? { configured: config } : {}),
    ignored: keys.filter((key) => !isSimulated(key)),
  };
}

/** @throws UsageError for a manager that is the user's own module */
export function simulatedContender(configured: Config): Contender {
  const { manager } = configured.agents;
  if (isManagerModule(manager))
    throw new UsageError(`agents.manager ${manager}: a simulation runs no modules`, {
      hint:
        'modules run on agent hosts only; name another manager with --set agents.manager=NAME, ' +
        'or see docs/adding-a-manager.md',
    });
  return configuredContender('configured', configured);
}

/** Caps that default to the host's size are the simulator's. */
function decisionOf({ decision, hook }: Config): SimulatedSettings {
  const { cpuCap: cpu, memoryCap: memory } = defaultDecisionSettings;
  return {
    decision: decisionSettings(decision, hook.sampleMs, { cpu, memory }),
    targetStaleMs: decision.targetStaleMs,
  };
}

/** Names keys of the configuration file that a simulation ignores, on stderr. */
export function warnIgnored(ignored: readonly string[]): void {
  if (ignored.length === 0) return;
  const shown = ignored.slice(0, 5).join(', ');
  const more = ignored.length > 5 ? ` and ${ignored.length - 5} more keys` : '';
  process.stderr.write(`gleaner: a simulation does not use ${shown}${more} of the configuration\n`);
}
