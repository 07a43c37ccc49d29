import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { hostNameFrom } from '../../broker/index.js';
import {
  type Config,
  configWarnings,
  messageOf,
  reloadConfig,
  systemClock,
  systemTimers,
} from '../../config/index.js';
import {
  checkConfigWriters,
  configFolder,
  configPath,
  foreignWriter,
  loadSettings,
  makeLogger,
  optimizeSooner,
  parts,
  playDockerWorkload,
  processFaults,
  runAsProcess,
  SystemdNotifier,
} from '../../runtime/index.js';
import { type MetricPart, Operating } from '../../runtime/metrics/index.js';
import type { Part } from '../../runtime/wiring/index.js';
import { addAgentCommands } from './agents.js';
import { globalOptions } from './common.js';

/** The long-running parts, one command each. `gleaner up` runs the same commands. */
export function addCommands(program: Command): void {
  addPart(
    program,
    'hook',
    'run the daemon beside the invoker: tap, safeguard, limits',
    (config) => config.hook.hostName,
    // The sampler beats once a second at any sampling interval.
    () => 1000,
    (around) => {
      optimizeSooner(process.versions.v8);
      return parts.hook(around);
    },
  );
  const agents = addPart(
    program,
    'agents',
    'run an agent host: one resource manager per function',
    (config) => config.agents.hostName,
    (config) => config.agents.intervalMs,
    parts.agents,
  );
  addPart(
    program,
    'aggregator',
    'run the mean-field aggregator',
    (config) => config.agents.hostName,
    (config) => config.aggregator.intervalMs,
    parts.aggregator,
  );
  addAgentCommands(agents);
  const workload = program
    .command('workload', { hidden: true })
    .description('play the workload on real containers');
  workload.action(() =>
    runAsProcess(async () => {
      const { config } = loadSettings(globalOptions(workload));
      const logger = makeLogger(config.log.level, 'workload');
      processFaults.logTo(logger);
      return playDockerWorkload(config.simulator, logger);
    }),
  );
}

function addPart(
  program: Command,
  name: MetricPart,
  description: string,
  host: (config: Config) => string | null,
  loopMillis: (config: Config) => number,
  part: Part,
): Command {
  const command = program.command(name).description(description);
  command.action(() => {
    const systemd = SystemdNotifier.from(process.env, systemClock);
    return runAsProcess(async () => {
      const load = (): Config => loadSettings(globalOptions(command)).config;
      let config = load();
      const logger = makeLogger(config.log.level, name);
      processFaults.logTo(logger);
      const path = configPath(globalOptions(command));
      const found = [checkConfigWriters(path)];
      if (name === 'hook') found.push(foreignWriter(config.hook.stateDir));
      for (const problem of found)
        if (problem !== null)
          logger.warn({ event: 'foreign_writer', problem }, `not only root decides: ${problem}`);
      for (const warning of configWarnings(config))
        logger.warn({ event: 'config_warning' }, warning);
      const stepMillis = loopMillis(config);
      systemd?.expectSteps(stepMillis);
      const operating = new Operating(name, systemClock, stepMillis, () => systemd?.beat());
      await operating.listen(config.metrics, logger);
      const running = await part({
        config,
        logger,
        clock: systemClock,
        timers: systemTimers,
        boot: randomUUID().slice(0, 8),
        hostName: host(config) ?? hostNameFrom(hostname()),
        folder: configFolder(globalOptions(command)),
        configFile: path === undefined ? null : resolve(path),
        operating,
      });
      return {
        ...running,
        stop: () => {
          operating.stop();
          return running.stop();
        },
        reload: () => {
          const { config: next, applied, needRestart, error } = reloadConfig(config, load);
          const problem =
            error === null ? null : `the configuration is unchanged: ${messageOf(error)}`;
          if (problem !== null) logger.error({ event: 'config_rejected' }, problem);
          const inOneLine = problem?.replace(/\s*\n\s*/g, ' ') ?? null;
          operating.configRejected = inOneLine;
          running.reloaded?.(inOneLine);
          for (const { path, before, after } of applied)
            logger.info({ event: 'config_changed', path, before, after }, 'configuration changed');
          for (const { path } of needRestart)
            logger.warn(
              { event: 'config_needs_restart', path },
              `${path} changes at the next restart`,
            );
          if (applied.length === 0) return;
          config = next;
          logger.level = config.log.level;
          running.reconfigure?.(config);
        },
      };
    }, systemd);
  });
  return command;
}
