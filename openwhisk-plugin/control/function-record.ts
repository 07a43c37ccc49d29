import { type ActionSettings, LatencyHistogram } from '../../broker/messages/index.js';
import type { FunctionOverride, Mode } from '../../config/index.js';
import type { ContainerState, CpuMode, FunctionState } from '../decision/index.js';
import { Demand } from './demand.js';
import { Explanations } from './explanations.js';
import { Step } from './step.js';
import { HeldTarget } from './target.js';

/** What the configuration says about one function; its owner's annotations fill the gaps. */
export type FunctionSettings = Omit<FunctionOverride, 'match'> & {
  /** Set if Gleaner lowered the action's memory, MiB. */
  readonly resized?: ActionSettings['resized'];
};

const NO_SETTINGS: FunctionSettings = {};

/** One version of a function under one set of user limits, with its history. */
export class Revision {
  readonly fn: FunctionRecord;
  readonly version: string;
  readonly state: FunctionState;

  constructor(fn: FunctionRecord, version: string, state: FunctionState) {
    this.fn = fn;
    this.version = version;
    this.state = state;
  }
}

/** One function on this host: its mode, target, control step and recent activations. */
export class FunctionRecord {
  readonly action: string;
  mode: Mode = 'observe';
  /** Limits are written: mode `enforce`, neither paused nor stopped by the kill switch. */
  enforced = false;
  paused = false;
  settings = NO_SETTINGS;
  readonly target = new HeldTarget();
  readonly step = new Step();
  #explanations: Explanations | null = null;
  /** The revision that ran last. */
  revision: Revision | null = null;
  containers = 0;
  running = 0;
  activations = 0;
  #latency: LatencyHistogram | null = null;
  /** First activations of containers since the start, and the sum of their `/init` times. */
  coldStarts = 0;
  initMillis = 0;
  /** Sums over the ended activations of all revisions; units as in `Run`. */
  harvested = 0;
  harvestedMemory = 0;
  accelerated = 0;
  saved = 0;
  /** The newest grant was below or above the user's limit: events report changes only. */
  harvesting = false;
  borrowing = false;
  /** Read when a control step closes. */
  readonly demand = new Demand();
  /** User limit of the newest activation, millicores. */
  userCpu = 0;
  cpuMode: CpuMode = 'weight';
  /** Monotonic ms of the newest start. */
  lastSeen = 0;
  /** Containers that ended, and those of them that ended after one activation. */
  ended = 0;
  endedAfterOne = 0;
  reuseWarned = false;

  constructor(action: string) {
    this.action = action;
  }

  // Made when they are asked for: only the daemon does, and it may know thousands of functions.

  get explanations(): Explanations {
    this.#explanations ??= new Explanations();
    return this.#explanations;
  }

  /** Clean ends of warm activations since the start, without those of the control arm, ms. */
  get latency(): LatencyHistogram {
    this.#latency ??= new LatencyHistogram();
    return this.#latency;
  }

  /** Notes the newest activation, for observations and the host's report. */
  noteStart(container: ContainerState, now: number): void {
    this.userCpu = container.userCpu;
    this.cpuMode = container.mode;
    this.lastSeen = now;
  }
}
