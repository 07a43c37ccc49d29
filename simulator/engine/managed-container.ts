import type { Target } from '../../broker/messages/index.js';
import type { Millis } from '../../config/index.js';
import {
  Activation,
  FunctionRecord,
  type HostController,
  ManagedContainer,
  type TargetRules,
} from '../../openwhisk-plugin/control/index.js';
import {
  type ContainerState,
  type FunctionState,
  Run,
} from '../../openwhisk-plugin/decision/index.js';
import type { TargetsInFlight } from './targets-in-flight.js';

/** A run that knows its activation's place in the engine's columns. */
export class EngineRun extends Run {
  activation = -1;
}

/**
 * A container's place in the engine's columns, with what its host's controller knows of it. Reused;
 * `begin` begins another one.
 */
export class EngineContainer extends ManagedContainer<EngineContainer> {
  index = -1;
  serial = -1;
  record!: FunctionOnHost;
  isOomKilled = false;

  constructor(state: ContainerState) {
    super('', state);
  }

  begin(index: number, serial: number, record: FunctionOnHost): void {
    this.reset();
    this.index = index;
    this.serial = serial;
    this.record = record;
    this.isOomKilled = false;
    this.tapped = true;
    // Counters begin at zero with the container.
    this.waiting = 0;
    this.state.read = true;
  }
}

export class EngineActivation extends Activation<EngineContainer> {
  declare run: EngineRun;

  constructor(history: FunctionState, container: ContainerState) {
    super();
    this.run = new EngineRun(history, container);
  }
}

/**
 * A function on one simulated host. Its targets arrive after the network's delay. Times in ms of
 * simulated time.
 */
export class FunctionOnHost extends FunctionRecord {
  readonly fn: number;
  readonly host: number;
  /** Its host counts it among those that may be active. */
  isRecent = false;
  readonly #controller: HostController<EngineContainer>;
  readonly #targets: TargetsInFlight;
  /** Its row among them. */
  readonly #row: number;
  /** Rules of the host that a target was sent to; null: none is on its way. */
  #rules: TargetRules | null = null;

  constructor(
    fn: number,
    host: number,
    action: string,
    controller: HostController<EngineContainer>,
    targets: TargetsInFlight,
  ) {
    super(action);
    this.fn = fn;
    this.host = host;
    this.#controller = controller;
    this.#targets = targets;
    this.#row = targets.addRow();
    this.mode = 'enforce';
    this.enforced = true;
  }

  /** A target that arrives at `arrival`; one that was sent before has arrived by then. */
  send(target: Target, rules: TargetRules, arrival: Millis): void {
    this.receive(arrival);
    this.#rules = rules;
    this.#targets.send(this.#row, target, arrival);
  }

  /** Accepts a target that has arrived by now. */
  receive(now: Millis): void {
    const rules = this.#rules;
    if (rules === null) return;
    const target = this.#targets.take(this.#row, this.action, now);
    if (target === null) return;
    this.#rules = null;
    if (this.target.accept(target, rules, now) === null)
      this.#controller.onSharedPeak(this, target, rules, now);
  }
}
