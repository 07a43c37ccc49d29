import type { ChoiceReason, Grant, RangeReason } from '../decision/index.js';
import type { EndedActivation, EndReason } from './ended-activation.js';

/** One resource of one past activation: millicores or bytes. */
export interface ExplainedGrant {
  user: number;
  wanted: number;
  lower: number;
  upper: number;
  granted: number;
  borrowed: number;
  rangeReason: RangeReason;
  choice: ChoiceReason;
  /** Highest use seen; -1 when no window of it counted. */
  peak: number;
}

/** What `gleaner explain` shows of one activation. */
export interface Explanation {
  activation: string;
  version: string;
  container: string;
  /** Wall clock, us. */
  startedAt: number;
  durationMillis: number;
  initMillis: number;
  cold: boolean;
  control: boolean;
  enforced: boolean;
  ended: EndReason;
  status: number;
  clean: boolean;
  cpuMode: 'quota' | 'weight';
  shares: number;
  userShares: number;
  cpu: ExplainedGrant;
  memory: ExplainedGrant;
  loan: number;
  trippedCpu: boolean;
  trippedMemory: boolean;
  targetCpu: number;
  targetMemory: number;
  /** CPU-ms kept free, CPU-ms above the user's limit, ms saved (an estimate): what it brought. */
  harvested: number;
  accelerated: number;
  saved: number;
}

const KEPT = 16;

function grant(): ExplainedGrant {
  return {
    user: 0,
    wanted: 0,
    lower: 0,
    upper: 0,
    granted: 0,
    borrowed: 0,
    rangeReason: 'first_call',
    choice: 'user',
    peak: -1,
  };
}

function copyGrant(into: ExplainedGrant, from: Grant): void {
  into.user = from.user;
  into.wanted = from.wanted;
  into.lower = from.lower;
  into.upper = from.upper;
  into.granted = from.granted;
  into.borrowed = from.borrowed;
  into.rangeReason = from.reason;
  into.choice = from.choice;
  into.peak = from.peak;
}

function blank(): Explanation {
  return {
    activation: '',
    version: '',
    container: '',
    startedAt: 0,
    durationMillis: 0,
    initMillis: 0,
    cold: false,
    control: false,
    enforced: false,
    ended: 'answer',
    status: 0,
    clean: false,
    cpuMode: 'weight',
    shares: 0,
    userShares: 0,
    cpu: grant(),
    memory: grant(),
    loan: 0,
    trippedCpu: false,
    trippedMemory: false,
    targetCpu: Number.NaN,
    targetMemory: Number.NaN,
    harvested: 0,
    accelerated: 0,
    saved: 0,
  };
}

/** The last activations of one function, as numbers; made into text when somebody asks. */
export class Explanations {
  readonly #ring: Explanation[] = [];
  #next = 0;

  record(activation: EndedActivation): void {
    const { run, container } = activation;
    let entry = this.#ring[this.#next];
    if (entry === undefined) {
      entry = blank();
      this.#ring.push(entry);
    }
    this.#next = (this.#next + 1) % KEPT;
    entry.activation = activation.id;
    entry.version = activation.revision.version;
    entry.container = container.info.id;
    entry.startedAt = activation.startedAt;
    entry.durationMillis = activation.duration / 1000;
    entry.initMillis = activation.initMicros / 1000;
    entry.cold = activation.cold;
    entry.control = run.control;
    entry.enforced = run.enforced;
    entry.ended = activation.reason;
    entry.status = activation.status;
    entry.clean = activation.clean;
    entry.cpuMode = run.container.mode;
    entry.shares = run.shares;
    entry.userShares = container.info.user.shares;
    copyGrant(entry.cpu, run.cpu);
    copyGrant(entry.memory, run.memory);
    entry.loan = run.container.memoryLoan;
    entry.trippedCpu = run.trippedCpu;
    entry.trippedMemory = run.trippedMemory;
    entry.targetCpu = run.targetCpu;
    entry.targetMemory = run.targetMemory;
    entry.harvested = run.harvested;
    entry.accelerated = run.accelerated;
    entry.saved = run.saved;
  }

  /** Null before the first. */
  get newest(): Explanation | null {
    const count = this.#ring.length;
    return count === 0 ? null : this.#ring[(this.#next - 1 + count) % count]!;
  }

  /** Youngest first. */
  latest(): readonly Explanation[] {
    const count = this.#ring.length;
    return Array.from({ length: count }, (_, i) => this.#ring[(this.#next - 1 - i + 2 * count) % count]!);
  }
}
