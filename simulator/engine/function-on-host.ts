import type { Target } from '../../broker/messages/index.js';
import { FunctionRecord, type TargetRules } from '../../openwhisk-plugin/control/index.js';

/**
 * A function on one simulated host. Its targets arrive after the network's delay. Times in ms of
 * simulated time.
 */
export class FunctionOnHost extends FunctionRecord {
  readonly fn: number;
  readonly host: number;
  #sent: Target | null = null;
  #rules: TargetRules | null = null;
  #arrival = Number.POSITIVE_INFINITY;

  constructor(fn: number, host: number, action: string) {
    super(action);
    this.fn = fn;
    this.host = host;
    this.mode = 'enforce';
    this.enforced = true;
  }

  /** A target that arrives at `arrival`; one that was sent before has arrived by then. */
  send(target: Target, rules: TargetRules, arrival: number): void {
    this.receive(arrival);
    this.#sent = target;
    this.#rules = rules;
    this.#arrival = arrival;
  }

  /** Accepts a target that has arrived by now. */
  receive(now: number): void {
    if (this.#sent === null || this.#arrival > now) return;
    this.target.accept(this.#sent, this.#rules!, now);
    this.#sent = null;
  }
}
