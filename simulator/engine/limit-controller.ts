import type { FunctionOnHost } from './function-on-host.js';

/**
 * Who decides about limits while a cluster runs: the hooks of its hosts, or nobody. Activations and
 * containers are places in the engine's columns; all is told in simulated time, us, with the
 * columns brought up to it. Limits are set through `Limits`.
 */
export interface LimitController {
  /** A container is there, `/init` comes next. */
  containerStarted(container: number, now: number): void;
  initEnded(container: number, now: number): void;
  containerEnded(container: number, now: number): void;
  /** `/run` reaches the container: its activation is not yet on the CPU. */
  runStarted(activation: number, now: number): void;
  /** What is watched of an activation (`tripRate`, or the memory it may reach) has been reached. */
  crossed(activation: number, now: number): void;
  /** It has done the work of `reviseAt`. */
  revises(activation: number, now: number): void;
  /** Its rate is about to change: a window of use may end. */
  rateChanges(activation: number, now: number): void;
  /** Off the CPU for good; `outcome` as in `ClusterOutcome`. */
  runEnded(activation: number, outcome: number, now: number): void;
  /** An event the guard has put into the timeline is due. */
  due(target: number, stamp: number, now: number): void;
  /** Millicores now. */
  levels(): { readonly harvested: number; readonly borrowed: number; readonly demand: number };
}

/** The agents' side: told of ended activations, and woken by its own events in `due`. */
export interface StepListener {
  /** An activation of the function has ended and is in its step. */
  stepped(fn: FunctionOnHost, now: number): void;
  due(target: number, stamp: number, now: number): void;
}
