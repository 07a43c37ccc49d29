import { execFileSync } from 'node:child_process';
import { messageOf, programVersion, SeededRandom } from '../../config/index.js';
import { runHook } from '../../openwhisk-plugin/daemon/index.js';
import type { Platform } from '../../openwhisk-plugin/host/ports/index.js';
import { killSwitchText } from '../../rules/index.js';
import { connectPart } from '../broker.js';
import { auditCheck, HookMetrics, operatorCheck, tapCheck } from '../metrics/index.js';
import { processFaults } from '../process-faults.js';
import { hostPlatform } from './host-platform.js';
import type { Part, PartInputs } from './part.js';

/** The hook on the configured platform. A simulated host begins to play when the hook listens. */
export async function runHookPart(inputs: PartInputs): ReturnType<Part> {
  const { config, logger, boot, operating } = inputs;
  // A real host's hook need not hold a simulator in memory.
  const simulated =
    config.platform === 'simulated'
      ? (await import('./simulated-platform.js')).simulatedHost(config.simulator)
      : null;
  if (simulated === null && config.hook.core !== null) {
    const problem = bindToCore(config.hook.core);
    if (problem !== null)
      logger.warn({ core: config.hook.core, problem }, 'hook.core: running on any core');
  }
  const platform: Platform = simulated?.platform ?? (await hostPlatform(config));
  const broker =
    config.nats.servers.length === 0 ? null : await connectPart(config.nats, 'hook', null);
  if (broker === null) logger.warn('no NATS servers are configured: local policies only');
  const hook = await runHook({
    platform,
    broker,
    config,
    configFile: inputs.configFile,
    logger,
    random: new SeededRandom(config.simulator.seed ?? Date.now() % 4_294_967_296),
    version: programVersion(),
    boot,
    heartbeat: operating.beat,
    failure: () => processFaults.fatal,
  });
  let metrics: HookMetrics | null = null;
  operating.watch({
    broker,
    update: (set, now) => {
      metrics ??= new HookMetrics(set, config.metrics);
      metrics.update(hook.figures(), now);
    },
    checks: () => {
      const { host, unmanaged } = hook.figures();
      const detail = `${host.containers} managed, ${unmanaged} not`;
      return [
        {
          name: 'engine',
          state: host.isEngineReachable ? 'ok' : 'failed',
          detail: host.isEngineReachable ? 'answers' : 'silent',
        },
        ...operatorCheck(killSwitchText([host])),
        tapCheck(host.tap),
        auditCheck(host.audit),
        { name: 'containers', state: unmanaged > 0 ? 'degraded' : 'ok', detail },
      ];
    },
  });
  simulated?.play();
  return {
    // Just above what the hook's own stop waits for the kernel, systemd and the disk.
    stopMillis: 14_000,
    stop: async () => {
      // Time goes on while the hook stops: a simulated host that stood still would never let it
      // settle.
      try {
        await hook.stop();
      } finally {
        simulated?.stop();
        await broker?.close();
      }
    },
    kill: () => hook.toggleKillSwitch(),
    reconfigure: (next) => hook.reload(next),
    reloaded: (problem) => hook.reloaded(problem),
  };
}

/** Binds this process and its later children to one core. Returns the error, if any. */
function bindToCore(core: number): string | null {
  try {
    execFileSync('taskset', ['-a', '-c', '-p', String(core), String(process.pid)], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    return null;
  } catch (error) {
    return messageOf(error);
  }
}
