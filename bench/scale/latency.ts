import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runAgentHost } from '../../agents/host/index.js';
import type { Decided, ResourceManager } from '../../agents/index.js';
import { type Broker, silentLogger } from '../../broker/index.js';
import {
  type Config,
  configSchema,
  type Micros,
  type Millicores,
  mebibytes,
  millicores,
  SeededRandom,
  systemClock,
  systemTimers,
} from '../../config/index.js';
import { quantile } from '../../experiments/statistics.js';
import { runHook } from '../../openwhisk-plugin/daemon/index.js';
import {
  emptySample,
  type Limits,
  type WriteResult,
} from '../../openwhisk-plugin/decision/index.js';
import {
  addressOf,
  type ContainerInfo,
  type LimitHandle,
  type Platform,
  type TapListener,
  type UsageProbe,
} from '../../openwhisk-plugin/host/ports/index.js';
import { CFS_PERIOD_MICROS } from '../../rules/index.js';
import { atLeast, type BenchRow, row } from '../report.js';

/** A container with limits in memory, since `bench -- limits` measures writes. */
class Container implements LimitHandle, UsageProbe {
  readonly info: ContainerInfo = {
    id: 'c'.repeat(64),
    name: 'wsk0_1_guest_hello',
    address: '172.17.0.2',
    bridge: 'docker0',
    pid: 1,
    startedAt: systemClock.wall(),
    paused: false,
    user: {
      shares: 128,
      quota: millicores(1000),
      memory: mebibytes(256),
      memoryAndSwap: mebibytes(256),
      periodMicros: CFS_PERIOD_MICROS,
    },
  };
  readonly expected: Limits = { shares: 128, quota: millicores(1000), memory: mebibytes(256) };
  used = 0;

  setShares = (shares: number): WriteResult => this.#set('shares', shares);
  setQuota = (quota: number): WriteResult => this.#set('quota', quota);
  raiseMemory = (limit: number): WriteResult => this.#set('memory', limit);
  lowerMemory = async (limit: number): Promise<WriteResult> => this.#set('memory', limit);
  protectMemory = (): WriteResult => 'unsupported';
  read = (into: Limits): boolean => Object.assign(into, this.expected) !== null;
  cpu = (): number => this.used;
  workingSet = (): number => mebibytes(40);
  sample = (into: object): boolean =>
    Object.assign(into, emptySample(), {
      at: systemClock.monotonic(),
      cpu: this.used,
      workingSet: mebibytes(40),
    }) !== null;
  resetPeak = (): void => undefined;
  close = (): void => undefined;

  #set(name: keyof Limits, value: number): WriteResult {
    if (this.expected[name] === value) return 'unchanged';
    Object.assign(this.expected, { [name]: value });
    return 'written';
  }
}

/** A host with one container, whose packets `began` gets the listener for. */
function platformOf(container: Container, began: (packets: TapListener) => void): Platform {
  let packets: TapListener | null = null;
  return {
    name: 'simulated',
    clock: systemClock,
    timers: systemTimers,
    engine: {
      facts: async () => ({
        cpu: millicores(8000),
        memory: mebibytes(16_384),
        cgroupVersion: 1,
        cgroupDriver: 'cgroupfs',
        engineVersion: '20.10.24',
        apiVersion: '1.41',
      }),
      start: async (listener) => {
        listener.bridgesChanged([
          { interfaceName: 'docker0', networkName: 'bridge', gateway: '172.17.0.1' },
        ]);
        listener.containerStarted(container.info);
        listener.reconciled();
      },
      stop: async () => undefined,
    },
    tap: {
      start: (listener) => {
        packets = listener;
        began(listener);
      },
      watch: () => packets?.listening(null),
      bind: () => undefined,
      unbind: () => undefined,
      stop: async () => undefined,
    },
    limits: { open: () => container, expressible: (shares) => shares },
    usage: { open: () => container, hostMemoryInUse: () => mebibytes(1024) },
  };
}

function hookConfig(stateDir: string): Config {
  const config = structuredClone(configSchema.parse({})) as Config;
  Object.assign(config, { mode: 'enforce' });
  Object.assign(config.hook, { stateDir, hostName: 'bench', stepActivations: 1 });
  Object.assign(config.decision, { controlShare: 0, targetStaleMs: 60_000 });
  Object.assign(config.decision.policy, { quota: 'target' });
  return config;
}

/** Each decision requests a different amount, so that its limit identifies it. */
class CountingManager implements ResourceManager<null> {
  readonly name = 'counting';
  decided = 0;
  /** By `performance.now`, ms. */
  decidedAt = Number.NaN;

  initialState = (): null => null;
  phase = (): string => 'managing';
  decide = (): Decided<null> => {
    this.decided++;
    this.decidedAt = performance.now();
    return { state: null, decision: { cpu: this.latest, actions: [0, 0, 0] } };
  };

  get latest(): Millicores {
    return millicores(400 + (this.decided % 400));
  }
}

/** Activations of one action in the container, as the tap would report them. */
class Activations {
  readonly #packets: TapListener;
  readonly #address = addressOf('172.17.0.2');
  #connection = 0;

  constructor(packets: TapListener) {
    this.#packets = packets;
  }

  begin(): number {
    const at = systemClock.wall();
    const connection = ++this.#connection;
    const identity = {
      action: '/guest/hello',
      version: '0.0.1',
      activationId: String(connection).padStart(32, '0'),
      deadline: (at + 60e6) as Micros,
    };
    const address = this.#address;
    this.#packets.request({ connection, address, kind: 'run', identity, at, contentLength: 100 });
    return connection;
  }

  end(connection: number): void {
    this.#packets.answer(connection, this.#address, 200, systemClock.wall());
  }
}

/** A history: seconds of a fifth of a core, too long for the rule of short activations. */
async function playHistory(activations: Activations, container: Container): Promise<void> {
  for (let i = 0; i < 3; i++) {
    const activation = activations.begin();
    for (let slice = 0; slice < 20; slice++) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      container.used += 50 * 200;
    }
    activations.end(activation);
  }
}

/** Milliseconds from each decision to the first activation with its limit, ascending. */
async function measure(
  activations: Activations,
  container: Container,
  manager: CountingManager,
  seconds: number,
): Promise<number[]> {
  const taken: number[] = [];
  let last = 0;
  const stop = performance.now() + seconds * 1000;
  while (performance.now() < stop) {
    // Some 500 activations a second: as fast as the loop goes, their audit lines would be what is
    // waited for.
    await new Promise((resolve) => setTimeout(resolve, 1));
    const activation = activations.begin();
    const { decided } = manager;
    if (decided !== last && container.expected.quota === manager.latest) {
      taken.push(performance.now() - manager.decidedAt);
      last = decided;
    }
    activations.end(activation);
  }
  return taken.sort((a, b) => a - b);
}

/** From a decision in the agent host over a real nats-server to the first activation with it. */
export async function benchDecisionLatency(
  connect: (name: string) => Promise<Broker>,
  seconds: number,
): Promise<BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-bench-'));
  const container = new Container();
  let packets: TapListener | null = null;
  const hook = await runHook({
    platform: platformOf(container, (listener) => {
      packets = listener;
    }),
    broker: await connect('hook'),
    config: hookConfig(folder),
    logger: silentLogger,
    random: new SeededRandom(1),
  });
  const manager = new CountingManager();
  const agents = runAgentHost({
    broker: await connect('agents'),
    clock: systemClock,
    timers: systemTimers,
    random: new SeededRandom(1),
    manager: manager as ResourceManager,
    intervalMs: 10_000,
    host: 'agents-1',
  });
  try {
    const activations = new Activations(packets!);
    await playHistory(activations, container);
    const taken = await measure(activations, container, manager, seconds);
    const { decided } = manager;
    return [
      row('scale.decision_to_limit_p50', quantile(taken, 0.5), 'ms', {
        note: `${taken.length} decisions of ${decided}`,
      }),
      atLeast(
        'scale.decisions',
        taken.length / decided,
        0.95,
        'of decisions with a limit in force',
        'the quickest decisions alone are measured',
      ),
      row('scale.decision_to_limit_p99', quantile(taken, 0.99), 'ms', { goal: '< 20' }),
    ];
  } finally {
    await agents.stop();
    await hook.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
