import { LRUCache } from 'lru-cache';
import type { HostUserMemory, Observation, SizeAdvice } from '../../broker/index.js';
import { type Bytes, type Millis, SeededRandom } from '../../config/index.js';
import {
  busyMillis,
  isSound,
  RIGHT_SIZE_DEFAULT,
  type RightSizeConstants,
  type RightSizeState,
  recentPeak,
  rightSizeManager,
} from '../managers/index.js';
import type { ResourceManager } from '../resource-manager.js';

/** cgroup v1 weight of a container as large as its host's user-memory (field-notes A1-03: shares = 1024 x memory / user-memory). */
const WHOLE_SHARES = 1024;
/** Hosts whose user-memory is known. */
const HOSTS_MAX = 10_000;

/** OpenWhisk removes a container that idles for so long (field-notes C2): one not heard of since is gone, ms. */
const IDLE_LIFE = 600_000;

/** What was seen of one function; amounts as in {@link SizeAdvice}. */
class Sizing {
  state: RightSizeState;
  /** By host, when it was last heard of and how many there were. */
  readonly hosts = new Map<string, { at: Millis; containers: number }>();
  limit = 0;
  size = 0;
  highest = 0;
  calls = 0;
  callsAtLimit = 0;
  busy = 0;
  coldStarts = 0;
  kills = 0;
  killedAt: number | null = null;
  readonly since: Millis;
  until: Millis;

  constructor(state: RightSizeState, now: Millis) {
    this.state = state;
    this.since = now;
    this.until = now;
  }
}

/**
 * What functions' calls say about the memory of their actions, whatever manager they have: the rule of manager `right-size`, with
 * its evidence. It wishes nothing; who may change actions asks it (`gleaner actions`).
 */
export class SizeAdviser {
  readonly #rule: ResourceManager<RightSizeState>;
  readonly #constants: RightSizeConstants;
  readonly #sizings: LRUCache<string, Sizing>;
  readonly #userMemory: LRUCache<string, number>;
  /** `right-size` draws nothing. */
  readonly #random = new SeededRandom(1);

  constructor(functions: number, constants: RightSizeConstants = RIGHT_SIZE_DEFAULT) {
    this.#constants = constants;
    this.#rule = rightSizeManager(constants);
    this.#sizings = new LRUCache({ max: Math.max(1, functions) });
    this.#userMemory = new LRUCache({ max: HOSTS_MAX });
  }

  observe(observation: Observation, now: Millis): void {
    const { function: fn, user, peak, activations, control, host } = observation;
    if (!isSound(observation) || !(user.memory > 0)) return;
    this.#learnHost(observation);
    let sizing = this.#sizings.get(fn);
    if (sizing === undefined) {
      sizing = new Sizing(this.#rule.initialState(fn), now);
      this.#sizings.set(fn, sizing);
    }
    const view = { observation, features: [], others: null, price: null, random: this.#random };
    const { state, decision } = this.#rule.decide(sizing.state, view, now);
    const calls = activations + control.activations;
    sizing.state = state;
    sizing.size = decision.nominalMemory ?? user.memory;
    sizing.callsAtLimit = (user.memory === sizing.limit ? sizing.callsAtLimit : 0) + calls;
    sizing.limit = user.memory;
    if (calls > 0) sizing.highest = Math.max(sizing.highest, peak.memory);
    sizing.calls += calls;
    sizing.busy += busyMillis(observation);
    sizing.coldStarts += observation.coldStarts;
    sizing.hosts.set(host, { at: now, containers: observation.containers });
    sizing.until = now;
    if (observation.oomKills > 0) {
      sizing.kills += observation.oomKills;
      sizing.killedAt = user.memory;
    }
  }

  get functions(): number {
    return this.#sizings.size;
  }

  /** `from` and `count`: a page, the one seen last first. */
  advice(now: Millis, from = 0, count = Number.POSITIVE_INFINITY): SizeAdvice[] {
    const page: SizeAdvice[] = [];
    let place = 0;
    for (const [fn, sizing] of this.#sizings.entries()) {
      if (place++ < from) continue;
      if (page.length >= count) break;
      page.push(this.#adviceOf(fn, sizing, now));
    }
    return page;
  }

  hosts(): HostUserMemory[] {
    return [...this.#userMemory.entries()].map(([host, userMemory]) => ({ host, userMemory: userMemory as Bytes }));
  }

  /** Shares are rounded down, so each container tells a little too much; the least of late is the nearest. */
  #learnHost({ host, user }: Observation): void {
    if (!(user.shares > 2)) return;
    const told = (WHOLE_SHARES * user.memory) / user.shares;
    this.#userMemory.set(host, Math.min(told, this.#userMemory.get(host) ?? told));
  }

  #adviceOf(fn: string, sizing: Sizing, now: Millis): SizeAdvice {
    const { limit, size, highest, calls, callsAtLimit, busy, coldStarts, hosts, kills, killedAt } = sizing;
    let containers = 0;
    for (const [host, one] of hosts) {
      if (now - one.at > IDLE_LIFE) hosts.delete(host);
      else containers += one.containers;
    }
    const seen = (sizing.until - sizing.since) as Millis;
    return {
      function: fn,
      limit: limit as Bytes,
      size: size as Bytes,
      highest: highest as Bytes,
      recent: recentPeak(sizing.state, this.#constants.halfLife, now) as Bytes,
      calls,
      callsAtLimit,
      seen,
      rate: seen > 0 ? calls / (seen / 1000) : 0,
      busy: (calls > 0 ? busy / calls : 0) as Millis,
      coldStarts,
      containers,
      kills,
      killedAt: killedAt as Bytes | null,
    };
  }
}
