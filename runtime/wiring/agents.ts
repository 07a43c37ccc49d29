import {
  type LifeCycleOverrides,
  lifeCycleSettings,
  ThreadOfflineTrainer,
} from '../../agents/aware/index.js';
import { faasrmOnlineSettings, runFaasrmTrainer } from '../../agents/faasrm/index.js';
import { registrySettings, runAgentHost, TrajectoryWriter } from '../../agents/host/index.js';
import { NewerObjects, type ResourceManager } from '../../agents/index.js';
import {
  createManager,
  type ExternalManager,
  loadExternalManager,
  type ManagerSettings,
  managerFile,
} from '../../agents/managers/index.js';
import { PolicyStore } from '../../agents/nn/index.js';
import { ThreadTrainer } from '../../agents/ppo/index.js';
import {
  hookRules,
  RevisionTrigger,
  type TrajectoryStep,
  threadEngine,
} from '../../agents/simppo/index.js';
import {
  checkTunerSettings,
  hillClimbing,
  type LimitSearch,
  Q_DEFAULT,
  qLearning,
  TUNER_DEFAULT,
} from '../../agents/tuning/index.js';
import { type Logger, objectStores } from '../../broker/index.js';
import {
  type Config,
  isManagerModule,
  mebibytes,
  millicores,
  overrideFor,
  programVersion,
  SeededRandom,
  unusedTargets,
} from '../../config/index.js';
import { defaultDecisionSettings } from '../../openwhisk-plugin/decision/index.js';
import { connectPart } from '../broker.js';
import type { Running } from '../child.js';
import { operatorCheck, pausedText, updateAgents } from '../metrics/index.js';
import { processFaults } from '../process-faults.js';
import type { PartInputs } from './part.js';

/** Agents serve many hosts: without configured caps, each hook applies its own. */
function managerSettings({ agents, decision }: Config): ManagerSettings {
  const { cpuCap, memoryCap } = defaultDecisionSettings;
  return {
    cap: {
      cpu: decision.cpuCapMillicores === null ? cpuCap : millicores(decision.cpuCapMillicores),
      memory: decision.memoryCapMiB === null ? memoryCap : mebibytes(decision.memoryCapMiB),
    },
    hook: hookRules(decision),
    aware: agents.aware,
    resident: agents.resident,
    preset: decision.preset === 'default' ? 'default' : 'freyr',
  };
}

/** Some function's activations are chosen by FaaSRM's network, which needs weights. */
const usesFaasrm = ({ decision, functions }: Config): boolean =>
  decision.policy.quota === 'faasrm' ||
  functions.overrides.some(({ policy }) => policy === 'faasrm');

/** Throws ConcurrencySettingsError unless whole steps lead from the lowest limit to the highest. */
function concurrencyOf({
  agents,
}: Config): Pick<Parameters<typeof runAgentHost>[0], 'concurrency'> {
  const { search, least, most, step, holdS, holdActivations } = agents.concurrency;
  if (search === 'off') return {};
  const settings = {
    ...TUNER_DEFAULT,
    grid: { least, most, step },
    hold: { time: holdS * 1000, activations: holdActivations },
  };
  checkTunerSettings(settings);
  return {
    concurrency: {
      search: (search === 'q-learning' ? qLearning(Q_DEFAULT) : hillClimbing) as LimitSearch,
      settings,
    },
  };
}

/**
 * The configured managers by name, one of each: agents of one manager share what they have learned.
 * Made before anything runs, so that a wrong name or module is an error at the start.
 */
async function managersOf(
  { agents, functions }: Config,
  settings: ManagerSettings & { readonly seed: number },
  folder: string,
  logger: Logger,
): Promise<{
  readonly managers: ReadonlyMap<string, ResourceManager>;
  readonly external: readonly ExternalManager[];
}> {
  const overridden = functions.overrides.flatMap(({ manager }) => manager ?? []);
  const { cap, preset = 'default', seed } = settings;
  const managers = new Map<string, ResourceManager>();
  const external: ExternalManager[] = [];
  for (const name of new Set([agents.manager, ...overridden])) {
    if (isManagerModule(name)) {
      const file = managerFile(name, folder);
      const loaded = await loadExternalManager(file, { cap, preset, seed }, logger);
      external.push(loaded);
      managers.set(name, loaded.manager);
    } else managers.set(name, createManager(name, settings));
  }
  return { managers, external };
}

/** An agent host: the configured manager for every function, or the one an override names. */
export async function runAgentsPart({
  config,
  logger,
  clock,
  timers,
  boot,
  hostName,
  folder,
  operating,
}: PartInputs): Promise<Running> {
  const broker = await connectPart(config.nats, 'agents', {
    logger,
    whileAway: 'no targets are sent, so user limits and local policies apply',
  });
  const trainer = new ThreadTrainer(logger);
  const seed = Date.now() % 4_294_967_296;
  const trajectories = config.agents.trajectories
    ? new TrajectoryWriter(broker, { host: hostName, boot }, timers)
    : null;
  const newer = new NewerObjects(logger);
  const learning = {
    trainer,
    seed,
    trigger: new RevisionTrigger(),
    policies: new PolicyStore(broker.objects(objectStores.policies), newer),
    logger,
    ...(trajectories === null
      ? {}
      : { onStep: (step: TrajectoryStep) => trajectories.write(step) }),
  };
  const offlineTrainer = new ThreadOfflineTrainer(logger);
  const { overrides } = config.functions;
  const { episodeSteps, windowEpisodes: window } = config.agents.aware;
  const lifeCycleOverrides = (fn: string): LifeCycleOverrides => ({
    bootstrap: true,
    heldOffline: overrideFor(overrides, fn).holdOffline ?? false,
  });
  const settings = {
    ...managerSettings(config),
    ...learning,
    lifeCycle: { ...lifeCycleSettings, episodeSteps, window },
    lifeCycleOverrides,
    offlineTrainer,
  };
  const { managers, external } = await managersOf(config, settings, folder, logger);
  const { name: engine, detail } = threadEngine();
  logger.info({ engine, detail, manager: config.agents.manager }, 'agents decide');
  for (const problem of unusedTargets(config)) logger.warn({ event: 'targets_unused' }, problem);
  const agents = runAgentHost({
    broker,
    clock,
    timers,
    random: new SeededRandom(seed),
    manager: (fn) => managers.get(overrideFor(overrides, fn).manager ?? config.agents.manager)!,
    intervalMs: config.agents.intervalMs,
    ...concurrencyOf(config),
    host: hostName,
    boot,
    resident: config.agents.resident,
    registry: registrySettings(config.agents.registry),
    version: programVersion(),
    engine,
    logger,
    newer,
    heartbeat: operating.beat,
    failure: () => processFaults.fatal,
  });
  const learns = config.agents.faasrm === 'learn';
  const parts = {
    broker,
    clock,
    timers,
    host: hostName,
    boot,
    trainer,
    seed,
    learns,
    logger,
    newer,
  };
  const faasrmTrainer = usesFaasrm(config)
    ? runFaasrmTrainer({ ...parts, settings: faasrmOnlineSettings })
    : null;
  operating.watch({
    broker,
    update: (metrics) => updateAgents(metrics, agents, trajectories, trainer, offlineTrainer),
    checks: () => operatorCheck(pausedText(agents)),
  });
  return {
    stop: async () => {
      await faasrmTrainer?.stop();
      trajectories?.flush();
      await agents.stop();
      await trainer.close();
      await offlineTrainer.close();
      for (const one of external) await one.close();
      await broker.close();
    },
  };
}
