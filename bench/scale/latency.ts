import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runAgentHost } from '../../agents/host/index.js';
import type { ResourceManager } from '../../agents/index.js';
import { type Broker, silentLogger } from '../../broker/index.js';
import {
  type Config,
  configSchema,
  type Micros,
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
      periodMicros: 100_000,
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

/** From a decision in the agent host over a real nats-server to the first activation with it. */
export async function benchDecisionLatency(
  connect: (name: string) => Promise<Broker>,
  seconds: number,
): Promise<BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-bench-'));
  const container = new Container();
  let packets: TapListener | null = null;
  const platform: Platform = {
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
      },
      watch: () => packets?.listening(null),
      bind: () => undefined,
      unbind: () => undefined,
      stop: async () => undefined,
    },
    limits: { open: () => container, expressible: (shares) => shares },
    usage: { open: () => container, hostMemoryInUse: () => mebibytes(1024) },
  };
  const config = structuredClone(configSchema.parse({})) as Config;
  Object.assign(config, { mode: 'enforce' });
  Object.assign(config.hook, { stateDir: folder, hostName: 'bench', stepActivations: 1 });
  Object.assign(config.decision, { controlShare: 0, targetStaleMs: 60_000 });
  Object.assign(config.decision.policy, { quota: 'target' });
  const hook = await runHook({
    platform,
    broker: await connect('hook'),
    config,
    logger: silentLogger,
    random: new SeededRandom(1),
  });

  // Each decision requests a different amount, so that its limit identifies it.
  let decided = 0;
  let decidedAt = Number.NaN;
  const counting: ResourceManager<null> = {
    name: 'counting',
    initialState: () => null,
    phase: () => 'managing',
    decide: () => {
      decided++;
      decidedAt = performance.now();
      return {
        state: null,
        decision: { cpu: millicores(400 + (decided % 400)), actions: [0, 0, 0] },
      };
    },
  };
  const agents = runAgentHost({
    broker: await connect('agents'),
    clock: systemClock,
    timers: systemTimers,
    random: new SeededRandom(1),
    manager: counting as ResourceManager,
    intervalMs: 10_000,
    host: 'agents-1',
  });
  let connection = 0;
  const address = addressOf('172.17.0.2');
  const begin = (): number => {
    const at = systemClock.wall();
    const identity = {
      action: '/guest/hello',
      version: '0.0.1',
      activationId: String(++connection).padStart(32, '0'),
      deadline: (at + 60e6) as Micros,
    };
    packets!.request({ connection, address, kind: 'run', identity, at, contentLength: 100 });
    return connection;
  };
  const end = (of: number): void => packets!.answer(of, address, 200, systemClock.wall());
  try {
    // A history: a second of a fifth of a core, too long for the rule of short activations.
    for (let i = 0; i < 3; i++) {
      const call = begin();
      for (let slice = 0; slice < 20; slice++) {
        await new Promise((resolve) => setTimeout(resolve, 50));
        container.used += 50 * 200;
      }
      end(call);
    }
    const taken: number[] = [];
    let last = 0;
    const stop = performance.now() + seconds * 1000;
    while (performance.now() < stop) {
      // Some 500 activations a second: as fast as the loop goes, their audit lines would be what is
      // waited for.
      await new Promise((resolve) => setTimeout(resolve, 1));
      const call = begin();
      const quota = container.expected.quota;
      if (decided !== last && quota === 400 + (decided % 400)) {
        taken.push(performance.now() - decidedAt);
        last = decided;
      }
      end(call);
    }
    taken.sort((a, b) => a - b);
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
