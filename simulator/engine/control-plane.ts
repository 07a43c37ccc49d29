import { Agent, AgentHostCore } from '../../agents/host/index.js';
import type { Decision, ResourceManager } from '../../agents/index.js';
import { Aggregator } from '../../broker/mean-field/index.js';
import type { Observation } from '../../broker/messages/index.js';
import { MIB, type Millis, type Random } from '../../config/index.js';
import {
  closeStep,
  hostReport,
  type StepLength,
  type TargetRules,
  targetRules,
} from '../../openwhisk-plugin/control/index.js';
import type { Cluster } from './cluster.js';
import type { HookLimitController } from './hook-limit-controller.js';
import type { StepListener } from './limit-controller.js';
import type { FunctionOnHost } from './managed-container.js';
import type { ControlOptions } from './options.js';
import { scale } from './replicas.js';

/** Kinds of due events. */
const Due = { step: 0, field: 1, target: 2 } as const;
const KINDS = 3;

/** The only agent host, which is also the aggregator; nothing restarts, so there is one epoch. */
const AGENTS = 'agents';
const BOOT = 'simulated';
const EPOCH = 1;

/** A target for a function as a whole, until it is applied. */
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
 * The agents' side of a managed run: the product's agent host and aggregator in simulated time.
 * Instead of NATS, observations arrive at once and targets after a delay. Times in ms, except those
 * of the timeline (us).
 */
export class ControlPlane implements StepListener {
  readonly #cluster: Cluster;
  readonly #limitController: HookLimitController;
  readonly #parts: ControlPlaneParts;
  readonly #agents: (Agent | undefined)[] = [];
  /** When each observed last, ms: of thousands of agents few are active. */
  readonly #seenAt: Float64Array;
  readonly #core: AgentHostCore;
  readonly #length: StepLength;
  readonly #aggregator: Aggregator;
  /** By host. */
  readonly #targetRules: readonly TargetRules[];
  readonly #functionTargets: (FunctionTarget | undefined)[] = [];
  /** By function: the last target number of containers. */
  readonly #lastContainers: number[] = [];
  #reports = 0;

  constructor(cluster: Cluster, limitController: HookLimitController, parts: ControlPlaneParts) {
    this.#cluster = cluster;
    this.#limitController = limitController;
    this.#parts = parts;
    const { options, random } = parts;
    this.#seenAt = new Float64Array(cluster.functions.count).fill(Number.NEGATIVE_INFINITY);
    this.#length = { stepActivations: options.stepActivations, stepMillis: options.stepMs };
    const interval = options.fieldMs as Millis;
    this.#core = new AgentHostCore({ host: AGENTS, boot: BOOT, interval, random });
    this.#aggregator = new Aggregator({ host: AGENTS, boot: BOOT, step: interval });
    this.#targetRules = limitController.hosts.map(({ decider }, host) =>
      targetRules({ host: hostName(host), boot: BOOT }, decider.capacity, options.staleMs),
    );
    this.#schedule(interval, Due.field, 0, 0);
  }

  stepped(fn: FunctionOnHost, now: number): void {
    const { step } = fn;
    if (step.isFull(this.#length)) this.#observe(fn, now);
    else if (step.ended === 1)
      this.#schedule(
        step.closesAt(this.#length),
        Due.step,
        fn.fn * this.#limitController.hosts.length + fn.host,
        step.number,
      );
  }

  due(target: number, stamp: number, now: number): void {
    const kind = stamp % KINDS;
    if (kind === Due.field) this.#stepField((now / 1000) as Millis);
    else if (kind === Due.target) this.#applyFunctionTarget(target, now);
    else {
      const hosts = this.#limitController.hosts.length;
      const record = this.#limitController.knownRecord(Math.floor(target / hosts), target % hosts);
      if (record?.step.number === Math.floor(stamp / KINDS)) this.#observe(record, now / 1000);
    }
  }

  #schedule(at: number, kind: number, target: number, stamp: number): void {
    this.#cluster.scheduleLimitEvent(Math.round(1000 * at), target, stamp * KINDS + kind);
  }

  #observe(fn: FunctionOnHost, now: number): void {
    const { options, onObservation } = this.#parts;
    fn.containers = this.#cluster.containers.countOf(fn.fn, fn.host);
    const host = this.#limitController.hosts[fn.host]!;
    const rules = this.#targetRules[fn.host]!;
    const observation = closeStep(fn, rules, host.decider, now);
    if (observation === null) return;
    const agent = this.#agentOf(fn);
    this.#seenAt[fn.fn] = now;
    const decision = this.#core.decide(agent, observation, now as Millis);
    const target = this.#core.target(agent, decision, observation, EPOCH);
    fn.send(target, rules, (now + options.delayMs) as Millis);
    this.#setFunctionTarget(fn.fn, decision, now);
    onObservation?.(observation);
  }

  #agentOf({ fn, action }: FunctionOnHost): Agent {
    this.#agents[fn] ??= new Agent(action, this.#parts.manager);
    return this.#agents[fn];
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

  #activeAgents(now: Millis): Agent[] {
    const since = this.#core.activeSince(now);
    const active: Agent[] = [];
    for (let fn = 0; fn < this.#seenAt.length; fn++)
      if (this.#seenAt[fn]! >= since) active.push(this.#agents[fn]!);
    return active;
  }

  #stepField(now: Millis): void {
    const { options } = this.#parts;
    if (options.meanField) {
      this.#aggregator.takePartial(this.#core.partial(this.#activeAgents(now), now), now);
      this.#reports++;
      this.#limitController.hosts.forEach((host, index) => {
        const { decider, controller, running } = host;
        const functions = host.activeFunctions(now);
        const sender = { host: hostName(index), boot: BOOT, sequence: this.#reports };
        const state = { containers: 0, running, mode: 'enforce' as const };
        const report = hostReport(sender, decider, controller.load, functions, state, now);
        this.#aggregator.takeReport(report, now);
      });
      this.#core.meanField.take(this.#aggregator.step(now, EPOCH), now);
    }
    if (this.#cluster.isActive) this.#schedule(now + options.fieldMs, Due.field, 0, 0);
  }
}

const names: string[] = [];

/**
 * The same string for the same host. As the key of an object it is internalized, so that comparing
 * two takes one instruction: an agent looks for its host at each step.
 */
const hostName = (host: number): string => {
  names[host] ??= Object.keys({ [`host-${host}`]: host })[0]!;
  return names[host];
};
