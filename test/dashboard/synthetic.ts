import { type Broker, type EventKind, services, subjects } from '../../broker/index.js';
import { encodeMessage, LatencyHistogram } from '../../broker/messages/index.js';
import {
  agentsService,
  contractedEndpoints,
  type ExplanationView,
  type FunctionView,
  type HostView,
  hookService,
  serve,
} from '../../broker/services/index.js';
import type { RunningService } from '../../broker/services/services.js';

const MIB = 1024 * 1024;
export const HOST = 'invoker0';
const BOOT = 'boot-1';

/** `samples` in each arm, without variance, so that the interval has no width. */
const comparisonOf = (samples: number, ratio: number) => ({
  weight: samples / 2,
  difference: (samples / 2) * Math.log(ratio),
  variance: 0,
  varianceSquares: 0,
  activations: samples,
  controlSamples: samples,
});

/**
 * A Gleaner of any size, made of messages alone: what hooks, agents and aggregator would say. It
 * obeys pauses, as a hook does, and counts what it was asked.
 */
export class SyntheticGleaner {
  readonly names: readonly string[];
  readonly paused = new Set<string>();
  restored = 0;
  /** Modes that were set; null: as configured. */
  readonly modes: (HostView['mode'] | null)[] = [];
  /** Functions in each answer to `inspect`. */
  readonly inspected: number[] = [];
  /** Of all functions together. */
  controlSamples = 60;
  mode: HostView['mode'] = 'enforce';
  /** Of the answers about a function's mode. */
  restrictedBy: string | null = null;
  /** What holds the kill switch. */
  killedBy: readonly string[] = [];
  lostBridges: readonly string[] = [];
  audit: HostView['audit'] = { cause: null, waiting: 0, dropped: 0 };
  /** Older hooks count harvest for each function only. */
  isOlder = false;
  agentsPaused = false;
  second = 0;
  readonly #broker: Broker;
  readonly #running: RunningService[] = [];
  readonly #rewards: boolean;
  #timer: NodeJS.Timeout | null = null;

  constructor(broker: Broker, functions: number, rewards = true) {
    this.#broker = broker;
    this.#rewards = rewards;
    this.names = Array.from(
      { length: functions },
      (_, i) => `/guest/shop/fn-${String(i).padStart(4, '0')}`,
    );
  }

  /** `ticking`: sends a second's messages each second. */
  start(ticking = true): void {
    const hook = contractedEndpoints(hookService, {
      list: () => ({ host: this.#host(), functions: [...this.names] }),
      inspect: ({ offset = 0, limit, function: one }) => {
        const names =
          one === undefined
            ? this.names.slice(offset, offset + limit)
            : this.names.filter((name) => name === one);
        this.inspected.push(names.length);
        return {
          host: this.#host(),
          total: this.names.length,
          functions: names.map((name) => this.view(name)),
          containers: [],
          unmanaged: [],
          counters: {},
          events: { safeguard: this.second },
          targets: {},
          policies: [],
          messages: { published: 1, dropped: 0 },
          audit: { written: 1, dropped: 0 },
        };
      },
      explain: ({ function: name }) => {
        if (name === '/guest/failing') throw new Error('cannot read the history');
        return { function: name, activations: [explanation(this.second)] };
      },
      pause: ({ function: name }) => ({ function: name, paused: true }),
      resume: ({ function: name }) => ({ function: name, paused: false }),
      mode: ({ mode }) => {
        if (mode !== undefined) this.modes.push(mode);
        const { killed } = this.#host();
        return { host: HOST, mode: this.mode, killed, restrictedBy: this.restrictedBy };
      },
      restore: () => {
        this.restored++;
        return { restored: 3, failed: 0 };
      },
    });
    const state = () => ({
      host: 'agents0',
      boot: BOOT,
      paused: this.agentsPaused,
      shards: 64,
      counts: {},
      observations: {},
      meanField: {},
      handOver: {},
      registry: {},
    });
    const described = (name: string) => ({
      function: name,
      manager: 'simppo',
      phase: 'serving',
      paused: false,
      steps: 3,
      decision: null,
      features: [],
      state: null,
      hosts: [HOST],
      observation: null,
    });
    const agents = contractedEndpoints(agentsService, {
      list: ({ offset, limit }) => ({
        ...state(),
        total: this.names.length,
        features: ['cpu_util', 'slo_preservation'],
        phases: { offline: 2, serving: this.names.length - 2 },
        managers: { simppo: this.names.length },
        functions: this.names.slice(offset, offset + limit).map(described),
      }),
      inspect: ({ function: name }) => described(name),
      explain: ({ function: name }) => ({
        function: name,
        decisions: [
          {
            at: 1_700_000_000_000_000 as never,
            step: 41,
            phase: 'serving',
            host: HOST,
            activations: 20,
            features: [0.25, 1],
            others: true,
            price: { cpu: 0.5, memory: 0 },
            decision: { cpu: 700 as never, actions: [0, -1, 0] },
            sent: true,
          },
        ],
      }),
      pause: state,
      resume: state,
      advice: () => ({ total: 0, hosts: [], functions: [] }),
      concurrency: () => ({ total: 0, functions: [] }),
      retrain: ({ function: name }) => described(name),
    });
    const common = { version: '1.2.3', description: 'a synthetic one' };
    this.#running.push(
      serve(this.#broker, { ...common, name: services.hook, host: HOST, endpoints: hook }),
    );
    this.#running.push(
      serve(this.#broker, { ...common, name: services.agents, host: 'agents0', endpoints: agents }),
    );
    if (!ticking) return;
    this.#timer = setInterval(() => this.tick(), 1000);
    this.tick();
  }

  stop(): void {
    if (this.#timer) clearInterval(this.#timer);
    for (const service of this.#running) service.stop();
  }

  /**
   * A second of every function, or of some: half of what each is given is used, and it waits as
   * long as it runs.
   */
  tick(called = this.names): void {
    this.second++;
    const { second } = this;
    const send = (subject: string, message: object): void =>
      void this.#broker.publish(subject, encodeMessage(message));
    for (const [i, name] of this.names.entries()) {
      if (!called.includes(name)) continue;
      const latency = new LatencyHistogram();
      for (let activation = 0; activation < 10; activation++)
        latency.record(40 + ((i + second * 7) % 40) + activation);
      send(subjects.observation(name), {
        v: 1,
        function: name,
        host: HOST,
        boot: BOOT,
        step: second,
        // A real host's clock: counted seconds fall behind where ticks come late, and would be a
        // simulated one's.
        observedAt: performance.now(),
        span: 1000,
        mode: this.mode,
        cpuMode: i % 2 === 0 ? 'quota' : 'weight',
        activations: 10,
        coldStarts: 0,
        failures: 0,
        oomKills: 0,
        running: 1,
        latency: latency.toMessage(),
        peak: { cpu: 600, memory: 90 * MIB },
        // Another each second, so that every row changes.
        used: { cpu: 300 + ((i + second) % 50), memory: 80 * MIB },
        throttledShare: 0,
        user: { cpu: 1000, memory: 256 * MIB, shares: 128 },
        granted: {
          cpu: { min: 650, mean: 700, max: 800 },
          memory: { min: 256 * MIB, mean: 256 * MIB, max: 256 * MIB },
        },
        demand: { cpu: 700, memory: 128 * MIB },
        containers: 2,
        concurrency: 1,
        control: { activations: 1, mean: 60, p99: 60 },
        cpuWait: i < 5 ? 20 : 0,
        slo: 200,
      });
      if (i < 20 && this.#rewards)
        send(subjects.agentReport(name), {
          v: 1,
          function: name,
          host: 'agents0',
          boot: BOOT,
          sequence: second,
          manager: 'simppo',
          phase: 'serving',
          step: second,
          features: [0.25, 1],
          actions: [0, 0, 0],
          reward: 1 - 1 / second,
          target: { cpu: 700 },
        });
    }
    const amounts = (cpu: number) => ({ cpu, memory: 4096 * MIB });
    send(subjects.hostReport(HOST), {
      v: 1,
      host: HOST,
      boot: BOOT,
      sequence: second,
      capacity: amounts(8000),
      allocatable: amounts(7500),
      pool: amounts(2000),
      demand: amounts(10_000),
      available: amounts(7500),
      granted: amounts(5500),
      used: amounts(3000),
      functions: this.names.length,
      containers: 2 * this.names.length,
      running: 12,
      mode: this.mode,
    });
    send(subjects.meanField, {
      v: 1,
      host: 'aggregator0',
      boot: BOOT,
      sequence: second,
      epoch: 5,
      totals: {
        members: 4,
        // Means .5 and 1; mean squares .5 and 1: deviations sqrt(.5 - .25) = .5 and 0.
        state: [2, 4],
        squares: [2, 4],
        actions: [0, 0, 0],
        allocated: { ...amounts(6000), containers: 8 },
        demand: amounts(9000),
      },
      capacity: amounts(8000),
      hosts: [{ host: HOST, occupancy: { cpu: 1.2, memory: 0.4 }, price: { cpu: 0.2, memory: 0 } }],
      batches: [{ host: 'agents0', boot: BOOT, sequence: second }],
    });
    this.event('harvest', this.names[second % this.names.length]!, 'over_provisioned');
  }

  event(kind: EventKind, name: string | null, reason: string): void {
    const event = {
      v: 1,
      kind,
      function: name,
      host: HOST,
      boot: BOOT,
      sequence: this.second,
      at: 1_700_000_000_000_000,
      resource: 'cpu',
      before: 1000,
      after: 700,
      reason,
    };
    this.#broker.publish(subjects.event(kind, name), encodeMessage(event));
  }

  #host(): HostView {
    return {
      host: HOST,
      boot: BOOT,
      version: '1.2.3',
      platform: 'host',
      mode: this.mode,
      killed: this.killedBy.length > 0,
      killedBy: [...this.killedBy],
      isEngineReachable: true,
      tap: [
        { interface: 'docker0', state: 'listening', cause: '', since: null },
        ...this.lostBridges.map((bridge) => ({
          interface: bridge,
          ...{ state: 'lost' as const, cause: 'tcpdump ended', since: null },
        })),
      ],
      audit: this.audit,
      cpu: 8000,
      memory: 16_384 * MIB,
      poolCpu: 2000,
      poolMemory: 8192 * MIB,
      activations: 10 * this.second * this.names.length,
      ...(this.isOlder ? {} : this.#totals()),
      running: 12,
      containers: 2 * this.names.length,
      slowerThanControl: false,
      comparison: comparisonOf(this.controlSamples, 0.8),
      upSeconds: 14,
    };
  }

  /** Of all functions; see {@link view}. */
  #totals(): Pick<HostView, 'harvestedCpuSeconds' | 'acceleratedCpuSeconds' | 'savedSeconds'> {
    const views = this.names.map((name) => this.view(name));
    const total = (of: (view: FunctionView) => number): number =>
      views.reduce((sum, view) => sum + of(view), 0);
    return {
      harvestedCpuSeconds: total((view) => view.harvestedCpuSeconds),
      acceleratedCpuSeconds: total((view) => view.acceleratedCpuSeconds),
      savedSeconds: total((view) => view.savedSeconds),
    };
  }

  /**
   * Each function keeps half a core free, and every third uses a quarter of one above its limit.
   */
  view(name: string): FunctionView {
    const i = this.names.indexOf(name);
    return {
      name,
      mode: this.mode,
      paused: this.paused.has(name),
      activations: 10 * this.second,
      running: 1,
      containers: 2,
      cpuMode: i % 2 === 0 ? 'quota' : 'weight',
      userCpu: 1000,
      userMemory: 256 * MIB,
      userShares: 128,
      cpu: 700,
      memory: 256 * MIB,
      shares: i % 2 === 0 ? 128 : 256,
      harvestedCpuSeconds: 0.5 * this.second,
      harvestedMebibyteSeconds: 0,
      acceleratedCpuSeconds: i % 3 === 0 ? 0.25 * this.second : 0,
      savedSeconds: 0.01 * i * this.second,
      borrowedMemory: 0,
      p99: i === 1 ? 150 : 90,
      slo: i === 1 ? 100 : 200,
      objective: i === 1 ? 'missed' : 'kept',
      slowdown: null,
      // The first two gained and lost a tenth, the third has too few samples to say, all others are
      // unchanged.
      comparison: comparisonOf(i === 2 ? 12 : 40, [0.9, 1.1][i] ?? 1),
      learning: {
        activations: 500,
        activationsNeeded: 100,
        controlSamples: 240,
        controlSamplesNeeded: 200,
      },
      coldStarts: 3,
      initTime: 340,
      slowerThanControl: false,
      safeguard: 'over_provisioned',
      target: { author: 'simppo@agents0', fresh: true, cpu: 700, memory: null },
      ooms: { harvest: 0, user: 0 },
      concurrent: false,
    };
  }
}

function explanation(second: number): ExplanationView {
  const grant = {
    user: 1000,
    demand: 700,
    lower: 650,
    upper: 1000,
    granted: 700,
    borrowed: 0,
    choice: 'target',
    peak: 600,
  };
  return {
    activation: `activation${second}`,
    version: '0.0.1',
    container: 'c1',
    startedAt: 1_700_000_000_000_000,
    durationMillis: 61.5,
    initMillis: 0,
    cold: false,
    control: false,
    enforced: true,
    ended: 'answer',
    status: 200,
    clean: true,
    cpuMode: 'quota',
    shares: 128,
    userShares: 128,
    cpu: { ...grant, rangeReason: 'over_provisioned' },
    memory: { ...grant, rangeReason: 'guarantee' },
    loan: 0,
    trippedCpu: false,
    trippedMemory: false,
    targetCpu: 700,
    targetMemory: null,
    harvested: 18,
    accelerated: 0,
    saved: 0,
  };
}
