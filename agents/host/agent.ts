import { z } from 'zod';
import type { Contribution } from '../../broker/mean-field/index.js';
import type { Observation, PerResource } from '../../broker/messages/index.js';
import type { AgentDecision, AgentSummary, agentsService } from '../../broker/services/index.js';
import type { Bytes, Micros, Millicores, Millis, Random } from '../../config/index.js';
import { localFeatures } from '../features.js';
import { HOSTS_PER_FUNCTION_MAX } from '../hosts-per-function.js';
import { type Lateness, latenessAfter, latenessOf } from '../lateness.js';
import type { Decision, PhaseChange, ResourceManager } from '../resource-manager.js';
import type { MeanFieldContext } from './mean-field-view.js';

/** A suspended agent: its manager's state as JSON, without any machine's time in it. */
export const savedAgentSchema = z.object({
  manager: z.string().max(64),
  steps: z.int().min(0),
  /** Null: the manager has none, and the agent starts from scratch. */
  state: z.unknown(),
  paused: z.literal(true).optional(),
});
export type SavedAgent = z.infer<typeof savedAgentSchema>;

/** Longest description of an agent, characters. */
const ABOUT_MAX = 512;

/** A function's use of one invoker host, from its newest observation. */
class HostUsage {
  readonly host: string;
  at = 0 as Millis;
  containers = 0;
  cpu = 0;
  memory = 0;
  demandCpu = 0;
  demandMemory = 0;
  /** Per container, bytes: the user limit, and the highest use in the newest step. */
  userMemory = 0 as Bytes;
  peakMemory = 0 as Bytes;

  constructor(host: string) {
    this.host = host;
  }

  see({ granted, demand, containers, user, peak }: Observation, now: Millis): void {
    this.userMemory = user.memory;
    this.peakMemory = peak.memory;
    this.at = now;
    this.containers = containers;
    this.cpu = granted.cpu.mean * containers;
    this.memory = granted.memory.mean * containers;
    this.demandCpu = demand.cpu;
    this.demandMemory = demand.memory;
  }
}

/** Decisions that `explain` shows. */
const LOGGED_MAX = 16;

/** Signs of steps (containers, CPU, memory) in base 3: shared, as thousands of agents send some. */
const SIGNS: readonly (readonly number[])[] = Array.from({ length: 27 }, (_, i) => [
  Math.floor(i / 9) - 1,
  (Math.floor(i / 3) % 3) - 1,
  (i % 3) - 1,
]);
const signsOf = ([containers, cpu, memory]: readonly [number, number, number]) =>
  SIGNS[13 + 9 * Math.sign(containers) + 3 * Math.sign(cpu) + Math.sign(memory)]!;
const NO_STEPS = SIGNS[13]!;

const NO_CHANGES: readonly PhaseChange[] = [];

const shown = (decision: Decision | null) =>
  decision && { ...decision, actions: [...decision.actions] };

/** One function's manager with its state, and the function's use of each invoker host. */
export class Agent {
  readonly fn: string;
  readonly manager: ResourceManager;
  paused = false;
  /** Monotonic time of the last write of its entry in `gleaner_functions`. */
  registeredAt = Number.NEGATIVE_INFINITY as Millis;
  decision: Decision | null = null;
  /** Reward of the step that the last observation closed; null if it closed none. */
  reward: number | null = null;
  /** Phase changes of the last decision. */
  transitions: readonly PhaseChange[] = NO_CHANGES;
  features: readonly number[] = [];
  steps = 0;
  lastSeen = 0 as Millis;
  #state: unknown;
  /** In the order of their newest observations. */
  readonly #hosts: HostUsage[] = [];
  /** Whether the newest decision had a mean field, and its price. */
  #hadOthers = false;
  #price: PerResource | null = null;
  #lateness: Lateness | null = null;
  /** The newest observation whose decision was logged. */
  #newest: Observation | null = null;
  #changed: { readonly at: Micros; readonly reason: string } | null = null;
  readonly #actions: [number, number, number] = [0, 0, 0];
  /** The newest one, while the next one can differ in its actions only; null: to be made. */
  #contribution: Contribution | null = null;
  /** The least recent observation that is part of it. */
  #since = 0 as Millis;
  /** Oldest first. */
  readonly #log: AgentDecision[] = [];

  constructor(fn: string, manager: ResourceManager) {
    this.fn = fn;
    this.manager = manager;
    this.#state = manager.initialState(fn);
  }

  get phase(): string {
    return this.manager.phase(this.#state);
  }

  decide(
    observation: Observation,
    meanField: MeanFieldContext,
    random: Random,
    now: Millis,
  ): Decision {
    this.#see(observation, now);
    this.#contribution = null;
    this.lastSeen = now;
    this.steps++;
    const { field, others, price, invoker } = meanField;
    const features = localFeatures(observation, field, others);
    this.features = features;
    this.decision = null;
    this.reward = null;
    this.transitions = NO_CHANGES;
    this.#price = price;
    this.#hadOthers = others !== null;
    const lateness = latenessAfter(this.#lateness, observation, now, this.#lateness ?? undefined);
    this.#lateness = lateness;
    const view = { observation, features, others, price, invoker, lateness, random };
    const decided = this.manager.decide(this.#state, view, now);
    const { decision, reward = Number.NaN } = decided;
    this.#state = decided.state;
    this.decision = decision;
    this.reward = Number.isFinite(reward) ? reward : null;
    this.transitions = decided.transitions ?? NO_CHANGES;
    for (let i = 0; i < 3; i++) this.#actions[i] = this.#actions[i]! + decision.actions[i]!;
    return decision;
  }

  /** Whether the manager can save its state. */
  get isSavable(): boolean {
    return this.manager.saveState !== undefined;
  }

  /** For another host, or for later; null if there is nothing to save. */
  saveState(now: Millis): SavedAgent | null {
    const { manager, paused, steps } = this;
    const state = manager.saveState?.(this.#state, now) ?? null;
    if (paused) return { manager: manager.name, steps, state, paused };
    return state === null ? null : { manager: manager.name, steps, state };
  }

  /** False if the state is another manager's or unusable: the agent then starts from scratch. */
  loadState(saved: SavedAgent, now: Millis): boolean {
    this.paused = saved.paused === true;
    if (saved.manager !== this.manager.name) return false;
    if (saved.state === null) return true;
    const state = this.manager.loadState?.(this.fn, saved.state, now) ?? null;
    if (state === null) return false;
    this.#state = state;
    this.steps = saved.steps;
    return true;
  }

  /** False if the manager does not learn. */
  retrain(): boolean {
    if (!this.manager.retrain) return false;
    this.#state = this.manager.retrain(this.#state);
    return true;
  }

  /**
   * The agent's part of the mean field, over the hosts seen since `since`. Actions are summed since
   * the last call and reduced to their sign. Most agents have seen nothing new since then.
   */
  contribution(since: Millis): Contribution {
    const known = this.#contribution;
    if (known !== null && this.#since >= since) {
      // Nothing was decided since.
      if (known.actions !== NO_STEPS) this.#contribution = { ...known, actions: NO_STEPS };
      return this.#contribution!;
    }
    this.#forgetHosts(since);
    this.#since = this.#hosts[0]?.at ?? since;
    let cpu = 0;
    let memory = 0;
    let containers = 0;
    let demandCpu = 0;
    let demandMemory = 0;
    for (const seen of this.#hosts) {
      cpu += seen.cpu;
      memory += seen.memory;
      containers += seen.containers;
      demandCpu += seen.demandCpu;
      demandMemory += seen.demandMemory;
    }
    const actions = signsOf(this.#actions);
    this.#actions.fill(0);
    this.#contribution = {
      state: this.features,
      actions,
      allocated: { cpu: cpu as Millicores, memory: memory as Bytes, containers },
      demand: { cpu: demandCpu as Millicores, memory: demandMemory as Bytes },
      ...(this.#lateness?.hasObjective === true ? { lateness: latenessOf(this.#lateness) } : {}),
    };
    return this.#contribution;
  }

  /** Highest recent memory use of a container of this size on any host; null if unknown. */
  memoryPeak(userMemory: Bytes): Bytes | null {
    let most = 0;
    for (const seen of this.#hosts) {
      if (seen.userMemory === userMemory && seen.peakMemory > most) most = seen.peakMemory;
    }
    return most > 0 ? (most as Bytes) : null;
  }

  /** For `list`. */
  summary(): AgentSummary {
    const { fn, manager, phase, paused, steps, decision } = this;
    return { function: fn, manager: manager.name, phase, paused, steps, decision: shown(decision) };
  }

  /** Logs the newest decision for `explain`; `sent`: whether its target was published. */
  remember(observation: Observation, at: Micros, sent: boolean): void {
    this.#newest = observation;
    const change = this.transitions.at(-1);
    if (change !== undefined)
      this.#changed = {
        at,
        reason: `${change.from} to ${change.to}: ${change.reason}`.slice(0, ABOUT_MAX),
      };
    const { steps: step, phase, decision, features } = this;
    if (this.#log.length === LOGGED_MAX) this.#log.shift();
    this.#log.push({
      at,
      step,
      phase,
      host: observation.host,
      activations: observation.activations + observation.control.activations,
      features: [...features],
      others: this.#hadOthers,
      price: this.#price,
      decision: shown(decision),
      sent,
    });
  }

  /** For `explain`, newest first. */
  decisions(): AgentDecision[] {
    return [...this.#log].reverse();
  }

  /** For `inspect`. */
  describe(): z.output<typeof agentsService.inspect.answer> {
    const about = this.manager.about?.(this.#state);
    return {
      ...this.summary(),
      ...(about === undefined ? {} : { about: about.slice(0, ABOUT_MAX) }),
      ...(this.#changed === null ? {} : { changed: this.#changed }),
      features: [...this.features],
      state: this.#state,
      hosts: this.#hosts.map(({ host }) => host),
      observation: this.#hosts.length > 0 ? this.#newest : null,
    };
  }

  /** They stand in the order of their newest observations. */
  #forgetHosts(since: Millis): void {
    const hosts = this.#hosts;
    let old = 0;
    while (old < hosts.length && hosts[old]!.at < since) old++;
    if (old > 0) hosts.splice(0, old);
  }

  #see(observation: Observation, now: Millis): void {
    const { host } = observation;
    const hosts = this.#hosts;
    let place = hosts.length - 1;
    while (place >= 0 && hosts[place]!.host !== host) place--;
    const seen = place < 0 ? new HostUsage(host) : hosts[place]!;
    seen.see(observation, now);
    if (place >= 0 && place === hosts.length - 1) return;
    if (place >= 0) hosts.splice(place, 1);
    if (hosts.push(seen) > HOSTS_PER_FUNCTION_MAX) hosts.shift();
  }
}
