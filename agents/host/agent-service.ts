import type { LRUCache } from 'lru-cache';
import type { z } from 'zod';
import { ServiceError } from '../../broker/index.js';
import { agentsService, contractedEndpoints } from '../../broker/services/index.js';
import type { Clock } from '../../config/index.js';
import { FEATURES } from '../features.js';
import type { ConcurrencyTuners, SizeAdviser } from '../tuning/index.js';
import type { Agent } from './agent.js';
import type { HandOver } from './sharing/index.js';

type HostState = Omit<z.input<typeof agentsService.pause.answer>, 'paused'>;

export interface AgentServiceOptions {
  readonly host: string;
  readonly agents: LRUCache<string, Agent>;
  readonly handOver: Pick<HandOver, 'pause'>;
  readonly adviser: SizeAdviser;
  /** Null: concurrency limits are not tuned. */
  readonly tuner: ConcurrencyTuners | null;
  readonly clock: Clock;
  /** The part that all answers about the whole host share. */
  readonly state: () => HostState;
}

/** The endpoints of the service `gleaner-agents`: `gleaner functions`, `pause`, `retrain`, .... */
export class AgentService {
  readonly #options: AgentServiceOptions;
  #paused = false;

  constructor(options: AgentServiceOptions) {
    this.#options = options;
  }

  /** All agents decide, but no target is published. */
  get paused(): boolean {
    return this.#paused;
  }

  endpoints(): ReturnType<typeof contractedEndpoints> {
    const { agents, adviser, tuner, clock } = this.#options;
    return contractedEndpoints(agentsService, {
      list: ({ offset, limit }) => ({
        ...this.#state(),
        total: agents.size,
        features: [...FEATURES],
        phases: this.#tally((agent) => agent.phase),
        managers: this.#tally((agent) => agent.manager.name),
        functions: [...agents.values()]
          .slice(offset, offset + limit)
          .map((agent) => agent.summary()),
      }),
      inspect: ({ function: fn }) => this.#agent(fn).describe(),
      advice: ({ offset, limit }) => ({
        total: adviser.functions,
        hosts: adviser.hosts(clock.monotonic()),
        peaks: offset === 0 ? adviser.peaks : null,
        functions: adviser.advice(clock.monotonic(), offset, limit),
      }),
      concurrency: ({ function: fn, offset, limit }) => {
        if (fn === undefined)
          return { total: tuner?.functions ?? 0, functions: tuner?.tuned(offset, limit) ?? [] };
        const functions = tuner?.of(fn) ?? [];
        return { total: functions.length, functions };
      },
      explain: ({ function: fn }) => ({ function: fn, decisions: this.#agent(fn).decisions() }),
      pause: ({ function: fn }) => this.#pause(fn, true),
      resume: ({ function: fn }) => this.#pause(fn, false),
      retrain: ({ function: fn }) => {
        const agent = this.#agent(fn);
        if (!agent.retrain()) {
          throw new ServiceError(
            501,
            `retrain is not supported by this manager (${agent.manager.name})`,
          );
        }
        return agent.describe();
      },
    });
  }

  #state() {
    return { ...this.#options.state(), paused: this.#paused };
  }

  #agent(fn: string): Agent {
    const agent = this.#options.agents.peek(fn);
    if (!agent) throw this.#unknown(fn);
    return agent;
  }

  #unknown(fn: string): ServiceError {
    return new ServiceError(
      404,
      `${fn} has no agent on ${this.#options.host}`,
      'endpoint `list` shows the functions that have one',
    );
  }

  #pause(fn: string | undefined, value: boolean) {
    if (fn === undefined) this.#paused = value;
    else if (!this.#options.handOver.pause(fn, value)) throw this.#unknown(fn);
    return this.#state();
  }

  #tally(of: (agent: Agent) => string): Record<string, number> {
    const counted: Record<string, number> = {};
    for (const agent of this.#options.agents.values())
      counted[of(agent)] = (counted[of(agent)] ?? 0) + 1;
    return counted;
  }
}
