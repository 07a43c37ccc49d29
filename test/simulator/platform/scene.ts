import { type Bytes, type Millicores, type Millis, mebibytes } from '../../../config/index.js';
import {
  addressOf,
  type ContainerInfo,
  type LimitHandle,
} from '../../../openwhisk-plugin/host/ports/index.js';
import type { ClusterShape, SimulatedActivation } from '../../../simulator/engine/index.js';
import { SimPlatform } from '../../../simulator/platform/index.js';
import { checkWorkload, planWorkload } from '../../../simulator/workload/index.js';
import type { WorkloadInput } from '../../../simulator/workload/workload.js';

type FunctionInput = WorkloadInput['functions'][number];

/**
 * A function without any start-up time, called at the given times: what differs is said by the
 * test.
 */
export function fn(
  name: string,
  atMs: number[],
  cpuMs: number,
  changes: Partial<Omit<FunctionInput, 'profile'>> & {
    profile?: Partial<FunctionInput['profile']>;
  } = {},
): FunctionInput {
  return {
    name: `/guest/${name}`,
    memoryMiB: 256,
    arrivals: { atMs },
    ...changes,
    profile: {
      parallelism: 1,
      cpuMs,
      memory: { baseMiB: 40, peakMiB: 60 },
      initMs: 0,
      coldStartMs: 0,
      ...changes.profile,
    },
  };
}

export interface Scene {
  readonly platform: SimPlatform;
  /** What engine and tap said, one line each, with simulated ms. */
  readonly log: string[];
  readonly containers: ContainerInfo[];
  at(ms: number, run: () => void): void;
  limits(container: number): LimitHandle;
  /** Plays until all activations are over; timers that are due later stay. */
  runToEnd(): void;
  /** The activations that are over, by their place in the plan. */
  readonly ended: readonly SimulatedActivation[];
  /** Response time (wait + init + run) and execution time (run) of an activation, ms. */
  response(activation: number): number;
  execution(activation: number): number;
}

/**
 * One core and 2048 MiB of user memory unless changed; engine and tap are started, addresses bound
 * as the hook does.
 */
export async function scene(
  functions: FunctionInput[],
  options: {
    cores?: number;
    memoryMiB?: number;
    userMemoryMiB?: number;
    host?: Partial<ClusterShape>;
    seed?: number;
  } = {},
): Promise<Scene> {
  const workload = checkWorkload({
    version: 1,
    name: 'scene',
    host: {
      cores: options.cores ?? 1,
      memoryMiB: options.memoryMiB ?? 8192,
      userMemoryMiB: options.userMemoryMiB ?? 2048,
    },
    functions,
    seed: options.seed ?? 1,
  });
  const log: string[] = [];
  const containers: ContainerInfo[] = [];
  const ended: SimulatedActivation[] = [];
  const platform = new SimPlatform(planWorkload(workload), {
    host: options.host ?? {},
    recorder: {
      record: (activation) => {
        ended[activation.activation] = { ...activation };
        say(`ended ${activation.activation} ${activation.outcome}`);
      },
    },
  });
  const say = (text: string): void => {
    log.push(`${platform.now / 1000} ${text}`);
  };
  const nameOf = (id: string): string =>
    containers.find((container) => container.id === id)?.name ?? id;
  await platform.engine.start({
    containerStarted(container) {
      containers.push(container);
      say(`start ${container.name} ${container.address}`);
      platform.tap.bind(addressOf(container.address!), container.startedAt);
    },
    containerEnded(id) {
      say(`die ${nameOf(id)}`);
      const container = containers.find((one) => one.id === id);
      if (container?.address) platform.tap.unbind(addressOf(container.address));
    },
    containerPaused: (id, paused) => say(`${paused ? 'pause' : 'unpause'} ${nameOf(id)}`),
    containerOom: (id) => say(`oom ${nameOf(id)}`),
    bridgesChanged: (bridges) => platform.tap.watch(bridges),
    reconciled: () => say('reconciled'),
    engineDown: () => say('down'),
  });
  platform.tap.start({
    request: ({ kind, connection, identity }) =>
      say(
        `${kind} ${connection} ${identity?.action}@${identity?.version} ${identity?.activationId}`,
      ),
    answer: (connection, _address, status) => say(`answer ${connection} ${status}`),
    closed: (connection, _address, reset) => say(`${reset ? 'reset' : 'closed'} ${connection}`),
    lost: (reason) => say(`lost ${reason}`),
    anomaly: (kind) => say(`anomaly ${kind}`),
    listening: () => undefined,
    counted: () => undefined,
  });
  return {
    platform,
    log,
    containers,
    at: (ms, run) => {
      platform.timers.after(ms as Millis, run);
    },
    limits: (container) => platform.limits.open(containers[container]!),
    runToEnd: () => runToEnd(platform),
    ended,
    response: (activation) => (ended[activation]!.endedAt - ended[activation]!.arrivedAt) / 1000,
    execution: (activation) => (ended[activation]!.endedAt - ended[activation]!.runAt) / 1000,
  };
}

export function runToEnd(platform: SimPlatform): void {
  while (!platform.finished) platform.run(platform.nextAt);
}

export const cores = (count: number): Millicores => (count * 1000) as Millicores;
export const mib = (count: number): Bytes => mebibytes(count);
