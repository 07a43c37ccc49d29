import type { Logger } from '../../broker/index.js';
import { MIB, messageOf, type SimulatorConfig } from '../../config/index.js';
import {
  type Action,
  type Arrival,
  actionSource,
  ensureActionImage,
  InvokerEmulator,
  playWorkload,
} from '../../simulator/invoker-emulator/index.js';
import type { Plan, WorkloadFunction } from '../../simulator/workload/index.js';
import type { Running } from '../child.js';
import { configuredPlan } from './workload.js';

/** What node and the action proxy use: only what an activation needs beyond it is allocated. */
const RUNTIME_MIB = 48;
/** A waiting thread waits often and shortly, so that even short windows see its mean. */
const ROUND_MS = 50;

/** The action that does what an activation of the workload needs, as its payload says. */
export function actionFor(fn: WorkloadFunction): Action {
  const parts = fn.name.split('/').filter(Boolean);
  return {
    namespace: parts[0]!,
    name: parts.slice(1).join('/'),
    version: fn.version,
    ...actionSource(fn.profile.parallelism > 1 ? 'parallel' : 'mixed'),
    memoryMb: fn.memoryMiB,
    timeoutMs: fn.timeoutMs,
    ...(fn.userCpuMillicores === null ? {} : { cpus: fn.userCpuMillicores / 1000 }),
  };
}

/** CPU and waits of one activation, ms, and memory beyond the runtime's, MiB. */
export function payloadFor(
  fn: WorkloadFunction,
  cpuMs: number,
  ioMs: number,
  peakMiB: number,
): Record<string, number> {
  const { parallelism } = fn.profile;
  if (parallelism > 1) return { cpuMs, workers: Math.ceil(parallelism) };
  const sleepMs = ioMs + cpuMs * (1 / parallelism - 1);
  const rounds = Math.max(1, Math.ceil((cpuMs + sleepMs) / ROUND_MS));
  return { rounds, cpuMs, sleepMs, megabytes: Math.max(0, Math.round(peakMiB - RUNTIME_MIB)) };
}

/** The plan as arrivals for real containers, `from` one instant of it on. */
export function arrivalsOf(plan: Plan): Arrival[] {
  const actions = plan.workload.functions.map(actionFor);
  return Array.from({ length: plan.count }, (_, i) => {
    const index = plan.fn[i]!;
    const fn = plan.workload.functions[index]!;
    const payload = payloadFor(fn, plan.cpu[i]! / 1000, plan.io[i]! / 1000, plan.peak[i]! / MIB);
    return { atMs: plan.arrival[i]! / 1000, action: actions[index]!, payload };
  });
}

/** Plays the workload as an invoker would, until stopped; removes every container it made. */
export async function runDockerWorkload(
  simulator: SimulatorConfig,
  logger: Logger,
): Promise<Running> {
  const plan = configuredPlan(simulator);
  const arrivals = arrivalsOf(plan);
  const emulator = new InvokerEmulator({
    image: await ensureActionImage(),
    prefix: simulator.prefix,
    userMemoryMb: plan.workload.host.userMemoryMiB,
  });
  await emulator.start();
  const stopped = new AbortController();
  const playing = (async () => {
    do {
      await playWorkload(emulator, arrivals, {
        signal: stopped.signal,
        onRecord: (record) => {
          if (!record.ok) logger.info({}, `${record.action} ended as ${record.kind}`);
        },
      });
    } while (simulator.repeat && !stopped.signal.aborted);
  })().catch((error) => logger.error({}, `the workload is no longer played: ${messageOf(error)}`));
  return {
    stopMillis: 28_000,
    stop: async () => {
      stopped.abort();
      // Removing the containers ends what still runs in them: nothing is waited for.
      await emulator.stop();
      await Promise.race([playing, new Promise((resolve) => setTimeout(resolve, 2000).unref())]);
    },
  };
}
