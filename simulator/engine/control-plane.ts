import { Agent, AgentHostCore } from '../../agents/host/index.js';
import type { Decision, ResourceManager } from '../../agents/index.js';
import { Aggregator } from '../../broker/mean-field/index.js';
import type { HostReport, Observation } from '../../broker/messages/index.js';
import { MIB, type Millis, type Random } from '../../config/index.js';
import { hostReport, observationOf } from '../../openwhisk-plugin/control/index.js';
import type { Cluster } from './cluster.js';
import type { FunctionOnHost } from './function-on-host.js';
import type { HookLimitController } from './hook-limit-controller.js';
import type { StepListener } from './limit-controller.js';
import type { ManagedHost } from './managed-host.js';
import type { ControlOptions } from './options.js';
import { scale } from './replicas.js';

/** Events of the control side: what is due. */
const Due = { step: 0, field: 1, target: 2 } as const;
const KINDS = 3;

/** The one agent host there is, and the one aggregator. */
const AGENTS = 'agents';
const BOOT = 'simulated';

/** A wish that concerns a function as a whole, until it is carried out. */
interface FunctionTarget {
  containers: number | undefined;
  nominalMiB: number | undefined;
}

export interface ControlPlaneParts {
  readonly manager: ResourceManager;
  readonly options: ControlOptions;
  readonly random: Random;
  readonly onObservation: ((observation: Observation) => void) | null;
}

/**
 * The agents' side of a managed run, without a network: control steps close as a hook closes them,
 * the same `Agent` decides, the same sums make the mean field, and a target is in force after a
 * delay. Times in ms but for the timeline's.
 */
export class ControlPlane implements StepListener {
  readonly #cluster: Cluster;
  readonly #limitController: HookLimitController;
  readonly #parts: ControlPlaneParts;
  readonly #agents: (Agent | undefined)[] = [];
  readonly #aggregator: Aggregator;
  readonly #core: AgentHostCore;
  readonly #functionTargets: (FunctionTarget | undefined)[] = [];
  /** By function: containers last wished for. */
  readonly #lastContainers: number[] = [];
  #reports = 0;

  constructor(cluster: Cluster, limitController: HookLimitController, parts: ControlPlaneParts) {
    this.#cluster = cluster;
    this.#limitController = limitController;
    this.#parts = parts;
    const step = parts.options.fieldMs as Millis;
    this.#core = new AgentHostCore({
      host: AGENTS,
      boot: BOOT,
      interval: step,
      random: parts.random,
    });
    this.#aggregator = new Aggregator({ host: AGENTS, boot: BOOT, step });
    this.#schedule(step, Due.field, 0, 0);
  }

  stepped(fn: FunctionOnHost, now: number): void {
    const { step } = fn;
    const { stepActivations, stepMs } = this.#parts.options;
    const ended = step.activations + step.control.count;
    if (ended >= stepActivations) this.#observe(fn, now);
    else if (ended === 1)
      this.#schedule(
        now + stepMs,
        Due.step,
        fn.fn * this.#limitController.hosts.length + fn.host,
        step.number,
      );
  }

  due(target: number, stamp: number, now: number): void {
    const kind = stamp % KINDS;
    if (kind === Due.field) this.#stepField(now / 1000);
    else if (kind === Due.target) this.#applyFunctionTarget(target, now);
    else {
      const hosts = this.#limitController.hosts.length;
      const record = this.#limitController.knownRecord(Math.floor(target / hosts), target % hosts);
      if (record?.step.number === Math.floor(stamp / KINDS) && !record.step.empty)
        this.#observe(record, now / 1000);
    }
  }

  /** A wish for a function wherever it is, from outside: an environment's step. */
  decided(fn: number, decision: Decision, now: number): void {
    for (let host = 0; host < this.#limitController.hosts.length; host++) {
      const record = this.#limitController.knownRecord(fn, host);
      if (record !== undefined) this.#target(record, decision, now);
    }
    this.#setFunctionTarget(fn, decision, now);
  }

  #schedule(at: number, kind: number, target: number, stamp: number): void {
    this.#cluster.scheduleLimitEvent(Math.round(1000 * at), target, stamp * KINDS + kind);
  }

  #observe(fn: FunctionOnHost, now: number): void {
    fn.containers = this.#cluster.containers.countOf(fn.fn, fn.host);
    const host = this.#limitController.hosts[fn.host]!;
    const sender = { host: hostName(fn.host), boot: BOOT };
    const revision = fn.revision!;
    const slo = host.decider.slo(revision.state);
    const observation = observationOf(fn, revision, sender, slo, now);
    fn.step.clear();
    const decision = this.#core.decide(this.#agentOf(fn), observation, now as Millis);
    this.#target(fn, decision, now);
    this.#setFunctionTarget(fn.fn, decision, now);
    this.#parts.onObservation?.(observation);
  }

  #agentOf({ fn, action }: FunctionOnHost): Agent {
    this.#agents[fn] ??= new Agent(action, this.#parts.manager);
    return this.#agents[fn];
  }

  #target(fn: FunctionOnHost, { cpu, memory, weightFactor }: Decision, now: number): void {
    const { delayMs, staleMs } = this.#parts.options;
    fn.send(
      cpu ?? Number.NaN,
      memory ?? Number.NaN,
      weightFactor ?? Number.NaN,
      now + delayMs,
      now + staleMs,
    );
  }

  #setFunctionTarget(fn: number, { containers, nominalMemory }: Decision, now: number): void {
    if (containers === undefined && nominalMemory === undefined) return;
    this.#functionTargets[fn] = {
      containers,
      nominalMiB:
        nominalMemory === undefined ? undefined : Math.max(1, Math.ceil(nominalMemory / MIB)),
    };
    this.#schedule(now + this.#parts.options.delayMs, Due.target, fn, 0);
  }

  #applyFunctionTarget(fn: number, now: number): void {
    const target = this.#functionTargets[fn];
    this.#functionTargets[fn] = undefined;
    if (target === undefined) return;
    const { invokers } = this.#cluster;
    if (target.nominalMiB !== undefined) invokers.revise(fn, target.nominalMiB, now);
    if (target.containers === undefined) return;
    const fell = target.containers < (this.#lastContainers[fn] ?? Number.POSITIVE_INFINITY);
    this.#lastContainers[fn] = target.containers;
    scale(this.#cluster, fn, target.containers, fell, now);
  }

  #stepField(now: number): void {
    const { options } = this.#parts;
    const interval = options.fieldMs as Millis;
    if (options.meanField) {
      const at = now as Millis;
      const agents = this.#agents.filter((agent) => agent !== undefined);
      this.#aggregator.takePartial(this.#core.partial(agents, at), at);
      const sequence = ++this.#reports;
      this.#limitController.hosts.forEach((host, index) => {
        this.#aggregator.takeReport(reportOf(host, index, sequence, now), at);
      });
      this.#core.meanField.take(this.#aggregator.step(at, 1), at);
    }
    if (this.#cluster.isActive) this.#schedule(now + interval, Due.field, 0, 0);
  }
}

const names: string[] = [];

/** The same string for the same host, so that comparing two is cheap. */
const hostName = (host: number): string => {
  names[host] ??= `host-${host}`;
  return names[host];
};

/** What a daemon tells the aggregator about its host. */
function reportOf(
  { decider, functions }: ManagedHost,
  host: number,
  sequence: number,
  now: number,
): HostReport {
  const { cpuPool, memoryPool } = decider;
  let running = 0;
  for (const fn of functions) running += fn.running;
  return hostReport(
    { host: hostName(host), boot: BOOT, sequence },
    decider,
    functions,
    {
      granted: { cpu: cpuPool.granted, memory: memoryPool.granted },
      pool: { cpu: cpuPool.free, memory: memoryPool.free },
      containers: 0,
      running,
      mode: 'enforce',
    },
    now,
  );
}
