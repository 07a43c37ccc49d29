import { FunctionRecord } from '../../openwhisk-plugin/control/index.js';

interface Delivery {
  cpu: number;
  memory: number;
  weightFactor: number;
  from: number;
  until: number;
}

/**
 * A function on one simulated host. Its targets arrive after the network's delay. Times in ms of
 * simulated time.
 */
export class FunctionOnHost extends FunctionRecord {
  readonly fn: number;
  readonly host: number;
  readonly #delivery: Delivery = {
    cpu: Number.NaN,
    memory: Number.NaN,
    weightFactor: Number.NaN,
    from: Number.POSITIVE_INFINITY,
    until: Number.NEGATIVE_INFINITY,
  };

  constructor(fn: number, host: number, action: string) {
    super(action);
    this.fn = fn;
    this.host = host;
    this.mode = 'enforce';
    this.enforced = true;
  }

  /** A target that arrives at `from` and is stale after `until`; it replaces one on its way. */
  send(cpu: number, memory: number, weightFactor: number, from: number, until: number): void {
    this.receive(from);
    const delivery = this.#delivery;
    delivery.cpu = cpu;
    delivery.memory = memory;
    delivery.weightFactor = weightFactor;
    delivery.from = from;
    delivery.until = until;
  }

  /** Takes the target that has arrived by now. */
  receive(now: number): void {
    const { cpu, memory, weightFactor, from, until } = this.#delivery;
    if (from > now) return;
    this.#delivery.from = Number.POSITIVE_INFINITY;
    this.target.set(cpu, memory, weightFactor, until);
  }
}
