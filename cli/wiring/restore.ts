import type { Config } from '../../config/index.js';
import { type RestoreReport, restoreAll } from '../../openwhisk-plugin/index.js';
import { cgroupWriter, dockerEngine } from './host-platform.js';

export interface RestoreSummary {
  /** Limits that stood otherwise and are the user's again. */
  readonly restored: number;
  readonly containers: number;
  readonly failed: number;
}

export function summaryOf({ restored, failed }: RestoreReport): RestoreSummary {
  let changed = 0;
  for (const { shares, quota, memory } of restored)
    for (const result of [shares, quota, memory]) if (result === 'written') changed++;
  return { restored: changed, containers: restored.length, failed: failed.length };
}

/** Restores the user limits of every container of this host, from the engine and the kernel alone: no hook, no NATS. */
export async function restoreHost(config: Config): Promise<RestoreSummary> {
  // A simulated host is restored by its hook, or gone with it; this machine's engine is not its own.
  if (config.platform === 'simulated') return { restored: 0, containers: 0, failed: 0 };
  const engine = dockerEngine(config.hook);
  const writer = cgroupWriter(await engine.facts(), config.decision.memory.shrinkMargin);
  try {
    return summaryOf(await restoreAll({ engine, writer }));
  } finally {
    await writer.close();
    await engine.stop();
  }
}
