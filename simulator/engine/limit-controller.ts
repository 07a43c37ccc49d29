import type { FunctionOnHost } from './managed-container.js';

/**
 * Decides about limits while a cluster runs. Activations and containers are indexes into the
 * engine's columns; times are simulated, us, and the columns are settled up to them. Limits are set
 * through `Limits`.
 */
export interface LimitController {
  /** `/init` of the container begins. */
  containerStarted(container: number, now: number): void;
  initEnded(container: number, now: number): void;
  containerEnded(container: number, now: number): void;
  /** `/run` reaches the container: its activation is not yet on the CPU. */
  runStarted(activation: number, now: number): void;
  /** An activation has reached its `tripRate`, or the memory that is watched. */
  crossed(activation: number, now: number): void;
  /** It has done the work of `reviseAt`. */
  revises(activation: number, now: number): void;
  /** Its rate is about to change: a window of use may end. */
  rateChanges(activation: number, now: number): void;
  /** Off the CPU for good; `outcome` as in `ClusterOutcome`. */
  runEnded(activation: number, outcome: number, now: number): void;
  /** An event that the controller has scheduled is due. */
  due(target: number, stamp: number, now: number): void;
  /** Millicores now. */
  levels(): { readonly harvested: number; readonly borrowed: number; readonly demand: number };
}

/** The agents' side: called after activations, and for its own scheduled events. */
export interface StepListener {
  /** An activation of the function has ended and is counted in its step. */
  stepped(fn: FunctionOnHost, now: number): void;
  due(target: number, stamp: number, now: number): void;
}
