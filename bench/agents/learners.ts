import { type Broker, services, wildcards } from '../../broker/index.js';
import { decodeTrajectory } from '../../broker/messages/index.js';
import {
  agentsService,
  callEveryInstance,
  callService,
  type ExplanationView,
  hookService,
} from '../../broker/services/index.js';

/** Requests to the agents of a running Gleaner over NATS, and the steps that they record. */
export class Learners {
  readonly #broker: Broker;
  /** Steps sampled from the policy, by function. */
  readonly #sampled = new Map<string, number>();
  #updates = 0;

  constructor(broker: Broker) {
    this.#broker = broker;
    broker.subscribe(wildcards.trajectories, ({ data }) => {
      const decoded = decodeTrajectory(data);
      if (!decoded.ok) return;
      const { function: fn, author } = decoded.message;
      this.#updates = Math.max(this.#updates, author.updates);
      if (author.sampled) this.#sampled.set(fn, (this.#sampled.get(fn) ?? 0) + 1);
    });
  }

  /** Sampled steps of functions with this prefix. */
  sampled(prefix: string): number {
    return [...this.#sampled].reduce(
      (sum, [fn, count]) => sum + (fn.startsWith(prefix) ? count : 0),
      0,
    );
  }

  /** Largest number of updates of weights that chose a step. */
  get updates(): number {
    return this.#updates;
  }

  /** Lets every serving agent learn. @returns how many learn */
  async retrain(): Promise<number> {
    const answers = await callEveryInstance(this.#broker, {
      service: services.agents,
      endpoint: 'list',
    });
    let online = 0;
    for (const [host, answer] of answers) {
      const { functions } = agentsService.list.answer.parse(answer);
      for (const { function: fn, phase } of functions) {
        if (phase === 'serving') {
          const call = {
            service: services.agents,
            endpoint: 'retrain',
            host,
            request: { function: fn },
          };
          await callService(this.#broker, call);
        }
        online++;
      }
    }
    return online;
  }

  /** The hook's explanations of a function's last 10 activations, by id. */
  async explained(fn: string): Promise<Map<string, ExplanationView>> {
    const call = { service: services.hook, endpoint: 'explain', request: { function: fn } };
    const found = new Map<string, ExplanationView>();
    for (const answer of (await callEveryInstance(this.#broker, call)).values()) {
      const checked = hookService.explain.answer.safeParse(answer);
      if (!checked.success) continue;
      for (const activation of checked.data.activations)
        found.set(activation.activation, activation);
    }
    return found;
  }
}
