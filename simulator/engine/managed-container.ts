import type { Revision } from '../../openwhisk-plugin/control/index.js';
import {
  type ContainerState,
  type FunctionState,
  Run,
} from '../../openwhisk-plugin/decision/index.js';
import type { FunctionOnHost } from './function-on-host.js';

/** A container as its host's hook knows it. */
export interface ManagedContainer {
  readonly index: number;
  readonly serial: number;
  readonly state: ContainerState;
  readonly history: FunctionState;
  readonly record: FunctionOnHost;
  readonly revision: Revision;
  /** Throttled periods of ended runs. */
  throttled: number;
  boosted: boolean;
}

/** A run that knows its activation. */
export class ClusterRun extends Run {
  activation = -1;
}
