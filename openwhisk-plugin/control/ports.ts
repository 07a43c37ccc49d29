import type { Bytes, Millis } from '../../config/index.js';
import type {
  Outcome,
  SampleAction,
  UsageSample,
  UserLimits,
  WeightRange,
  WriteResult,
} from '../decision/index.js';
import type { Activation, ManagedContainer } from './container.js';
import type { EndedActivation } from './ended-activation.js';
import type { FunctionRecord, Revision } from './function-record.js';

/** Author and reason of a change, for the audit log; with the activation that it is for. */
export interface LimitChange<C extends ManagedContainer<C>> {
  readonly who: string;
  readonly why: string;
  readonly activation: Activation<C> | null;
}

/** Makes changes in one object, reused: nothing is allocated per activation. */
export function reusedChange<C extends ManagedContainer<C>>() {
  const change = { who: '', why: '', activation: null as Activation<C> | null };
  return (who: string, why: string, activation: Activation<C> | null = null): LimitChange<C> => {
    change.who = who;
    change.why = why;
    change.activation = activation;
    return change;
  };
}

/** Limits out: brings them into force. A limit that is in force already costs no write. */
export interface LimitPort<C extends ManagedContainer<C>> {
  setShares(container: C, shares: number, change: LimitChange<C>): WriteResult;
  /** Millicores; `NO_LIMIT` removes the quota. */
  setQuota(container: C, quota: number, change: LimitChange<C>): WriteResult;
  /** Factors on its own weight that the kernel can express for the container. */
  weightRange(container: C): WeightRange;
  /** Bytes. A raise is in force on return, a reduction may follow later or be refused. */
  setMemory(container: C, limit: number, change: LimitChange<C>): void;
  onMemoryRefused(listener: (container: C, now: Millis) => void): void;
  /** Protects the user's memory from other containers' loans. */
  protectMemory(container: C): void;
  /** Every limit back to the user's. */
  restore(container: C, change: LimitChange<C>): void;
  /** Some limit differs from the user's. */
  isChanged(container: C): boolean;
  memoryInForce(container: C): number;
  /** Largest memory limit that the groups above the container allow. */
  memoryCeiling(container: C): Bytes;
  /** Notes what would have been written (mode `recommend`). */
  recommend(activation: Activation<C>): void;
}

/** Usage in. */
export interface UsagePort<C extends ManagedContainer<C>> {
  /** Sets `run.startCpu`, and `run.lateCpu` where it is known. */
  atStart(activation: Activation<C>, now: Millis): void;
  /**
   * Sets `run.endCpu`. Returns a full reading, or null if a recent one is good enough or the
   * container is gone.
   */
  atEnd(activation: Activation<C>, now: Millis): UsageSample | null;
  resetPeak(container: C): void;
}

/** Reports out: what happened, for observations, events, metrics and explanations. */
export interface ReportPort<C extends ManagedContainer<C>> {
  /** The decision is made, nothing is written yet. Sets `activation.author`. */
  decided(activation: Activation<C>): void;
  ended(activation: EndedActivation, fn: FunctionRecord, outcome: Outcome): void;
  /** The function's control step has grown. */
  stepped(fn: FunctionRecord, now: Millis): void;
  safeguarded(activation: Activation<C>, action: SampleAction): void;
  boosted(container: C): void;
  /** Memory above the user's limit, before and after, bytes. */
  lent(container: C, revision: Revision, before: number, after: number): void;
  /** A loan to this container was taken back. */
  revoked(container: C, revision: Revision): void;
  /** More was lent to a running activation. */
  lentLater(activation: Activation<C>): void;
  oomKilled(container: C, limit: number, isHarvest: boolean): void;
}

/** The functions of this host. */
export interface FunctionDirectory {
  /** Null for a name that OpenWhisk would not allow. */
  revision(action: string, version: string, user: UserLimits, now: Millis): Revision | null;
}

export interface HostPorts<C extends ManagedContainer<C>> {
  readonly functions: FunctionDirectory;
  readonly limits: LimitPort<C>;
  readonly usage: UsagePort<C>;
  readonly reports: ReportPort<C>;
}
