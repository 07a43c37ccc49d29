import { type Broker, services, wildcards } from '../../broker/index.js';
import { decodeTrajectory } from '../../broker/messages/index.js';
import {
  agentsService,
  callEveryInstance,
  callService,
  type ExplanationView,
  hookService,
} from '../../broker/services/index.js';

/**
 * What the agents of a Gleaner that runs are asked and told over NATS, and the steps that they
 * learn from as they record them.
 */
export class Learners {
  readonly #broker: Broker;
  /** Steps drawn from the policy, by function. */
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

  /** Steps of functions whose name begins so: each is a row of some batch. */
  sampled(prefix: string): number {
    return [...this.#sampled].reduce(
      (sum, [fn, count]) => sum + (fn.startsWith(prefix) ? count : 0),
      0,
    );
  }

  /** Updates of the weights that the newest steps were chosen by: most of any. */
  get updates(): number {
    return this.#updates;
  }

  /** All agents that only serve learn from now on. @returns how many learn */
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

  /** What the hook says of a function's last 16 activations, by id. */
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
