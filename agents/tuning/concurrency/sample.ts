import type { Observation } from '../../../broker/messages/index.js';
import type { Millis } from '../../../config/index.js';

/**
 * One control step of a function on one host. `limit`, activations of a container at once, is in
 * force by the OpenWhisk controller, as the hook cannot see it.
 */
export interface Sample {
  readonly limit: number;
  /** ms. */
  readonly span: number;
  readonly activations: number;
  readonly failures: number;
  readonly oomKills: number;
  /** Time that activations spent in containers, ms. */
  readonly busy: number;
  /** Containers x limit x span, ms: what there was room for. */
  readonly capacity: number;
  /** Mean use over the user's limit, per container; from 0 on, may exceed 1. */
  readonly cpu: number;
  readonly memory: number;
}

export interface Measurement {
  readonly limit: number;
  /** Successful activations a second. */
  readonly throughput: number;
  /** Use over the user's limit, means over the activations. */
  readonly cpu: number;
  readonly memory: number;
}

/** A limit being held: sums since it was first seen in force. Several hosts' samples add up. */
export interface Window {
  readonly limit: number;
  readonly since: Millis;
  readonly activations: number;
  readonly failures: number;
  /** ms, as in a sample. */
  readonly busy: number;
  readonly capacity: number;
  /** Use over the user's limit x activations. */
  readonly cpu: number;
  readonly memory: number;
}

export const openWindow = (limit: number, since: Millis): Window => ({
  limit,
  since,
  activations: 0,
  failures: 0,
  busy: 0,
  capacity: 0,
  cpu: 0,
  memory: 0,
});

export const added = (window: Window, sample: Sample): Window => ({
  ...window,
  activations: window.activations + sample.activations,
  failures: window.failures + sample.failures,
  busy: window.busy + sample.busy,
  capacity: window.capacity + sample.capacity,
  cpu: window.cpu + sample.cpu * sample.activations,
  memory: window.memory + sample.memory * sample.activations,
});

export function measured(window: Window, now: Millis): Measurement {
  const { limit, activations, failures, cpu, memory } = window;
  const seconds = (now - window.since) / 1000;
  return {
    limit,
    throughput: Math.max(0, activations - failures) / seconds,
    cpu: cpu / activations,
    memory: memory / activations,
  };
}

export function sampleOf(observation: Observation, limit: number): Sample {
  const { span, activations, failures, oomKills, latency, containers, used, user } = observation;
  return {
    limit,
    span,
    activations,
    failures,
    oomKills,
    busy: latency.sum,
    capacity: Math.max(1, containers) * limit * span,
    cpu: used.cpu / user.cpu,
    memory: used.memory / user.memory,
  };
}

/** Whether all figures are possible; an invalid sample is not learned from. */
export const isValidSample = ({ limit, ...figures }: Sample): boolean =>
  Number.isInteger(limit) &&
  limit >= 1 &&
  Object.values(figures).every((value) => value >= 0 && Number.isFinite(value));
