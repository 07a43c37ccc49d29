import { Activation, ManagedContainer } from '../../openwhisk-plugin/control/index.js';
import {
  type ContainerState,
  type FunctionState,
  Run,
} from '../../openwhisk-plugin/decision/index.js';
import type { FunctionOnHost } from './function-on-host.js';

/** A run that knows its activation's place in the engine's columns. */
export class EngineRun extends Run {
  activation = -1;
}

/** A container's place in the engine's columns, with what its host's controller knows of it. */
export class EngineContainer extends ManagedContainer<EngineContainer> {
  readonly index: number;
  readonly serial: number;
  readonly record: FunctionOnHost;
  isOomKilled = false;

  constructor(index: number, serial: number, state: ContainerState, record: FunctionOnHost) {
    super('', state);
    this.index = index;
    this.serial = serial;
    this.record = record;
    this.tapped = true;
  }
}

export class EngineActivation extends Activation<EngineContainer> {
  declare run: EngineRun;

  constructor(history: FunctionState, container: ContainerState) {
    super();
    this.run = new EngineRun(history, container);
  }
}
