import type { ExecutionContext } from 'ava';
import { type Broker, silentLogger } from '../../../broker/index.js';
import { type Config, configSchema, SeededRandom } from '../../../config/index.js';
import { runHook } from '../../../openwhisk-plugin/daemon/index.js';
import type { RunningHook } from '../../../openwhisk-plugin/daemon/run-hook.js';
import { hostPlatform } from '../../../runtime/wiring/host-platform.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

/**
 * Of a hook on this host's real parts that enforces on the containers of one prefix, without a
 * control arm, in a folder of its own.
 */
export function realHookConfig(prefix: string): Config {
  const config = structuredClone(configSchema.parse({})) as Config;
  Object.assign(config, { mode: 'enforce' });
  Object.assign(config.hook, {
    stateDir: temporaryFolder('hook-real'),
    hostName: 'real-host',
    containerPrefix: prefix,
  });
  Object.assign(config.decision, { controlShare: 0 });
  return config;
}

/**
 * As `gleaner hook` runs it: dockerd, tcpdump, cgroups. But it does not ask to be the only one on
 * this engine, as each has its prefix. It is stopped at the test's end, also if that fails or times
 * out during the start.
 */
export function startRealHook(
  t: ExecutionContext,
  config: Config,
  broker: Broker | null = null,
): Promise<RunningHook> {
  const started = runRealHook(config, broker);
  t.teardown(async () => {
    const hook = await started.catch(() => null);
    await hook?.stop();
  });
  return started;
}

async function runRealHook(config: Config, broker: Broker | null): Promise<RunningHook> {
  const { engineLock: _, ...platform } = await hostPlatform(config);
  return runHook({ platform, broker, config, logger: silentLogger, random: new SeededRandom(1) });
}
