import { type Config, millis, steadyClock, systemClock, systemTimers } from '../../config/index.js';
import {
  CgroupLimitWriter,
  CgroupUsageMonitor,
  formulaOfRuntime,
  SystemdBus,
} from '../../openwhisk-plugin/host/cgroup/index.js';
import { DockerEngine, managedByPrefix } from '../../openwhisk-plugin/host/docker/index.js';
import type { HostFacts, Platform } from '../../openwhisk-plugin/host/ports/index.js';
import { TcpdumpTap } from '../../openwhisk-plugin/host/tap/index.js';

export function dockerEngine(hook: Config['hook']): DockerEngine {
  return new DockerEngine({
    socketPath: hook.engineSocket,
    managed: managedByPrefix(hook.containerPrefix),
    reconcileEvery: millis(hook.reconcileS * 1000),
    deadline: millis(hook.engineTimeoutMs),
  });
}

export function cgroupWriter(facts: HostFacts, margin: number): CgroupLimitWriter {
  const formula = formulaOfRuntime(facts.runtime ?? '');
  return new CgroupLimitWriter({
    cgroupVersion: facts.cgroupVersion,
    margin,
    ...(formula === null ? {} : { formula }),
    ...(facts.cgroupDriver === 'systemd' ? { scopes: new SystemdBus() } : {}),
  });
}

/**
 * `Platform` on this very host: Docker, tcpdump and cgroups. Rejects where the engine does not
 * answer.
 */
export async function hostPlatform(config: Config): Promise<Platform> {
  const { hook, decision } = config;
  const engine = dockerEngine(hook);
  const facts = await engine.facts();
  return {
    name: 'host',
    clock: systemClock,
    steady: steadyClock,
    timers: systemTimers,
    engine,
    tap: new TcpdumpTap({
      port: hook.containerPort,
      invokers: hook.invokerAddresses,
      tcpdump: hook.tcpdump,
    }),
    limits: cgroupWriter(facts, decision.memory.shrinkMargin),
    usage: new CgroupUsageMonitor(),
    exclusive: hook.engineSocket,
  };
}
