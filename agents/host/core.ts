import type { Contribution } from '../../broker/mean-field/index.js';
import type { AgentsPartial, Observation, Target } from '../../broker/messages/index.js';
import type { Millis, Random } from '../../config/index.js';
import type { Decision } from '../resource-manager.js';
import { isValidDecision } from '../validation.js';
import type { Agent } from './agent.js';
import { MeanFieldView } from './mean-field-view.js';

/** An agent counts in the sums for this many intervals after its last observation. */
const ACTIVE_INTERVALS = 3;

export interface AgentHostCoreOptions {
  readonly host: string;
  readonly boot: string;
  /** Length of a mean-field step, ms. */
  readonly interval: Millis;
  readonly random: Random;
}

/**
 * The rules of an agent host, without I/O: an observation becomes a decision and a target, and the
 * active agents become partial sums. {@link runAgentHost} drives it over NATS, the simulator in
 * simulated time; both keep the agents themselves.
 */
export class AgentHostCore {
  readonly meanField: MeanFieldView;
  readonly #options: AgentHostCoreOptions;
  #targets = 0;
  #partials = 0;

  constructor(options: AgentHostCoreOptions) {
    this.#options = options;
    this.meanField = new MeanFieldView(options);
  }

  /**
   * The agent's decision for a control step. Throws what the manager throws, and if an amount is
   * not a positive number: then no target is sent, and the user limits apply.
   */
  decide(agent: Agent, observation: Observation, now: Millis): Decision {
    const context = this.meanField.contextOf(agent.fn, observation.host, now);
    const decision = agent.decide(observation, context, this.#options.random, now);
    if (!isValidDecision(decision))
      throw new Error(`manager ${agent.manager.name} returned an amount that is not positive`);
    return decision;
  }

  /** The message that carries a decision to the hooks. `epoch`: of the function's lease. */
  target(
    agent: Agent,
    { cpu, memory, nominalMemory, weightFactor, containers, concurrency }: Decision,
    observation: Observation,
    epoch: number,
  ): Target {
    const { host, boot } = this.#options;
    const { user, observedAt } = observation;
    const target: Target = {
      v: 1,
      function: agent.fn,
      epoch,
      echo: { host: observation.host, boot: observation.boot, observedAt },
      author: { host, boot, sequence: ++this.#targets, manager: agent.manager.name },
    };
    // Assigned one by one: spread objects are slow to create.
    if (cpu !== undefined) target.cpu = cpu;
    if (memory !== undefined) target.memory = memory;
    if (nominalMemory !== undefined) target.nominalMemory = nominalMemory;
    if (weightFactor !== undefined) target.weightFactor = weightFactor;
    if (containers !== undefined) target.containers = containers;
    if (concurrency !== undefined) target.concurrency = concurrency;
    const peak = agent.memoryPeak(user.memory);
    if (peak !== null) target.peak = { userMemory: user.memory, memory: peak };
    return target;
  }

  /**
   * Agents whose last observation is older do not count in the sums. The simulator passes only
   * agents that have observed since then (`>=`).
   */
  activeSince(now: Millis): Millis {
    return (now - ACTIVE_INTERVALS * this.#options.interval) as Millis;
  }

  /** The sums over those of `agents` that are active, for the aggregator. */
  partial(agents: Iterable<Agent>, now: Millis): AgentsPartial {
    const { host, boot, interval } = this.#options;
    const since = this.activeSince(now);
    const contributions = new Map<string, Contribution>();
    for (const agent of agents)
      if (agent.lastSeen >= since && agent.steps > 0)
        contributions.set(agent.fn, agent.contribution(since));
    const sequence = ++this.#partials;
    const sums = this.meanField.record(sequence, contributions);
    return { v: 1, host, boot, sequence, interval, sums };
  }
}
