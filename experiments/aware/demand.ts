import type { AwareApp } from '../../simulator/workload/index.js';
import { grownTo, INPUTS, type InputKind, SEGMENTS } from '../../simulator/workload/index.js';

/** The demand of one application in one condition; controllers do not see it. */
export interface Demand {
  readonly id: number;
  /** Of one activation: CPU, core-s, and waits without a core, s. */
  readonly cpu: number;
  readonly wait: number;
  /** Working set of a container with nothing to do, and of each activation in flight, MiB. */
  readonly idleMiB: number;
  readonly activationMiB: number;
  /**
   * Mean activations a second, and how they swing: share of the mean, length in steps, and spread
   * of an hour's noise.
   */
  readonly rate: number;
  readonly swing: number;
  readonly period: number;
  readonly noise: number;
}

/** What a change scenario does to an application [AWARE]. */
export interface Condition {
  readonly grown?: InputKind;
  readonly activationsPerDay?: number;
}

/**
 * Node.js with the application loaded; an activation's working set is held three times over on the
 * way through: **assumptions**.
 */
const IDLE_MIB = 48;
const COPIES = 3;
/**
 * Cores that 200,000 activations a day keep busy, and the most after any change: **assumption**, so
 * that 20 containers can do it.
 */
const CORES_AT_HIGH = 2.5;
const CORES_MOST = 16;
const ACTIVATIONS_HIGH = 200_000;
const RATE_MOST = 400;

/**
 * An application's demand. The published traces give activations a day but no CPU; at the demand of
 * segments.ts a few activations a second would keep no core busy. So the rate is set for cores:
 * CORES_AT_HIGH x sqrt(activations a day / 200,000), sizes as before any change: a change of the
 * payload then changes the cores.
 */
export function demandOf(
  app: AwareApp,
  { grown, activationsPerDay = app.activationsPerDay }: Condition = {},
): Demand {
  const total = (part: 'cpu' | 'io' | 'memory', larger: (kind: InputKind) => boolean): number =>
    app.segments.reduce((sum, name) => {
      const { input, [part]: of } = SEGMENTS[name];
      const { before, after } = INPUTS[input];
      const value = grownTo(of, app.size * (larger(input) ? after / before : 1));
      return part === 'memory' ? Math.max(sum, value) : sum + value;
    }, 0);
  const cpu = total('cpu', (kind) => kind === grown) / 1000;
  const before = total('cpu', () => false) / 1000;
  const most = total('cpu', () => true) / 1000;
  const cores = CORES_AT_HIGH * Math.sqrt(activationsPerDay / ACTIVATIONS_HIGH);
  return {
    id: app.id,
    cpu,
    wait: total('io', (kind) => kind === grown) / 1000,
    idleMiB: IDLE_MIB,
    activationMiB: COPIES * total('memory', (kind) => kind === grown),
    rate: Math.min(RATE_MOST, cores / before, CORES_MOST / most),
    // By the application's number, so that each has its own day and the same one in every
    // condition.
    swing: 0.15 + 0.05 * (app.id % 7),
    period: 60 + 20 * (app.id % 11),
    noise: 0.05,
  };
}
