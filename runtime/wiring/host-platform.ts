import { type Config, steadyClock, systemClock, systemTimers } from '../../config/index.js';
import {
  CgroupLimitWriter,
  CgroupUsageMonitor,
  formulaOfRuntime,
  SystemdBus,
} from '../../openwhisk-plugin/host/cgroup/index.js';
import { DockerEngine, managedByPrefix } from '../../openwhisk-plugin/host/docker/index.js';
import type { ReconcilingEngine } from '../../openwhisk-plugin/host/engine/index.js';
import { KubernetesEngine } from '../../openwhisk-plugin/host/kubernetes/index.js';
import { engineLockPath } from '../../openwhisk-plugin/host/lock/index.js';
import type { HostFacts, Platform } from '../../openwhisk-plugin/host/ports/index.js';
import { TcpdumpTap } from '../../openwhisk-plugin/host/tap/index.js';

/** Where action containers answer `/init` and `/run` [OpenWhisk ContainerProxy.scala]. */
const CONTAINER_PORT = 8080;

export function containerEngine(hook: Config['hook']): ReconcilingEngine {
  const { engine, engineSocket: socketPath, containerPrefix, capture } = hook;
  return engine === 'docker'
    ? new DockerEngine({ socketPath, managed: managedByPrefix(containerPrefix) })
    : new KubernetesEngine({ socketPath, capture });
}

/** Just above the use, the kernel would reclaim pages that are in use. */
const SHRINK_MARGIN = 0.25;

export function cgroupWriter(facts: HostFacts): CgroupLimitWriter {
  const formula = formulaOfRuntime(facts.runtime ?? '');
  return new CgroupLimitWriter({
    cgroupVersion: facts.cgroupVersion,
    margin: SHRINK_MARGIN,
    ...(formula === null ? {} : { formula }),
    ...(facts.cgroupDriver === 'systemd' ? { scopes: new SystemdBus() } : {}),
  });
}

/** Container engine, tcpdump and cgroups of this host. Rejects if the engine does not answer. */
export async function hostPlatform(config: Config): Promise<Platform> {
  const { hook } = config;
  const engine = containerEngine(hook);
  const facts = await engine.facts();
  const limits = cgroupWriter(facts);
  return {
    name: 'host',
    clock: systemClock,
    steady: steadyClock,
    timers: systemTimers,
    engine,
    tap: new TcpdumpTap({
      port: CONTAINER_PORT,
      invokers: hook.invokerAddresses,
      tcpdump: hook.tcpdump,
    }),
    limits,
    usage: new CgroupUsageMonitor({ pathsOf: (container) => limits.takePaths(container) }),
    engineLock: engineLockPath(hook.engineSocket, hook.stateDir),
  };
}
