import {
  type Observation,
  TARGET_CONCURRENCY_MAX,
  TARGET_FACTOR_MAX,
} from '../broker/messages/index.js';
import type { Bytes, Millicores, Millis } from '../config/index.js';
import type { Cap, Decided, Decision, ResourceManager, View } from './resource-manager.js';

/** No target: hooks apply the user limits. */
export const NO_TARGET: Decision = { actions: [0, 0, 0] };

/** Most containers that a manager may set as target; [AWARE] has 1 to 20 replicas. */
export const CONTAINERS_MAX = 20;

const amount = (value: number): boolean => Number.isFinite(value) && value >= 0;
const positive = (value: number): boolean => Number.isFinite(value) && value > 0;
const isRequested = (value: number | undefined): value is number =>
  value !== undefined && positive(value);

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * No NaN, infinity or negative amount: simulations call managers without a message's validation.
 */
export function isValidObservation(observation: Observation): boolean {
  const { user, peak, used, granted, latency, control } = observation;
  return (
    positive(user.cpu) &&
    amount(user.memory) &&
    amount(peak.cpu) &&
    amount(peak.memory) &&
    amount(used.cpu) &&
    amount(used.memory) &&
    amount(granted.cpu.mean) &&
    amount(granted.cpu.max) &&
    amount(granted.memory.mean) &&
    amount(granted.memory.max) &&
    amount(observation.span) &&
    amount(observation.activations) &&
    amount(observation.coldStarts) &&
    amount(observation.oomKills) &&
    amount(observation.running) &&
    amount(observation.containers) &&
    amount(observation.initTime ?? 0) &&
    amount(observation.inits ?? 0) &&
    positive(observation.concurrency) &&
    amount(latency.sum) &&
    amount(control.activations) &&
    amount(control.mean)
  );
}

const isAbsentOrPositive = (value: number | undefined): boolean =>
  value === undefined || positive(value);

/** Whether it may be sent to hooks: each amount is absent or a positive number. */
export const isValidDecision = ({ cpu, memory, nominalMemory, weightFactor }: Decision): boolean =>
  isAbsentOrPositive(cpu) &&
  isAbsentOrPositive(memory) &&
  isAbsentOrPositive(nominalMemory) &&
  isAbsentOrPositive(weightFactor);

/**
 * Clips amounts to the cap, and others to what a target may carry: hooks refuse a target for one
 * number out of range. Drops those that are not positive. User limits may exceed the cap.
 */
function withinCaps(decision: Decision, observation: Observation, cap: Cap): Decision {
  const { user } = observation;
  // A container without a memory limit has nothing to lower or lend.
  const limited = user.memory > 0;
  const { cpu, memory, nominalMemory, weightFactor, containers, concurrency, actions } = decision;
  const mostCpu = Math.max(cap.cpu, user.cpu);
  const mostMemory = Math.max(cap.memory, user.memory);
  const isKept =
    isRequested(cpu) &&
    cpu <= mostCpu &&
    limited &&
    isRequested(memory) &&
    memory <= mostMemory &&
    Number.isInteger(memory) &&
    nominalMemory === undefined &&
    weightFactor === undefined &&
    containers === undefined &&
    concurrency === undefined;
  // Most set amounts of CPU and memory, within the cap.
  if (isKept) return decision;
  // Assigned one by one: spread objects are slow to create, and this runs at every step.
  const kept: Mutable<Decision> = { actions };
  if (isRequested(cpu)) kept.cpu = Math.min(cpu, mostCpu) as Millicores;
  if (limited && isRequested(memory))
    kept.memory = Math.ceil(Math.min(memory, mostMemory)) as Bytes;
  if (limited && isRequested(nominalMemory))
    kept.nominalMemory = Math.min(nominalMemory, mostMemory) as Bytes;
  if (isRequested(weightFactor))
    kept.weightFactor = Math.min(TARGET_FACTOR_MAX, Math.max(1 / TARGET_FACTOR_MAX, weightFactor));
  if (isRequested(containers)) kept.containers = Math.min(CONTAINERS_MAX, Math.ceil(containers));
  if (isRequested(concurrency))
    kept.concurrency = Math.min(TARGET_CONCURRENCY_MAX, Math.max(1, Math.floor(concurrency)));
  return kept;
}

/** An invalid observation gets no target, and no target exceeds the cap. */
export function validated<State>(
  manager: ResourceManager<State>,
  cap: Cap,
): ResourceManager<State> {
  const { about, retrain, saveState, loadState } = manager;
  return {
    name: manager.name,
    initialState: (fn) => manager.initialState(fn),
    decide(state: State, view: View, now: Millis) {
      if (!Number.isFinite(now) || !isValidObservation(view.observation))
        return { state, decision: NO_TARGET };
      const result = manager.decide(state, view, now);
      const { state: next, reward, transitions } = result;
      const decided: Mutable<Decided<State>> = {
        state: next,
        decision: withinCaps(result.decision, view.observation, cap),
      };
      if (reward !== undefined) decided.reward = reward;
      if (transitions !== undefined) decided.transitions = transitions;
      return decided;
    },
    phase: (state) => manager.phase(state),
    // Optional members that the manager lacks stay absent.
    ...(saveState === undefined
      ? {}
      : { saveState: (state: State, now: Millis) => saveState.call(manager, state, now) }),
    ...(loadState === undefined
      ? {}
      : {
          loadState: (fn: string, saved: unknown, now: Millis) =>
            loadState.call(manager, fn, saved, now),
        }),
    ...(about === undefined ? {} : { about: (state: State) => about.call(manager, state) }),
    ...(retrain === undefined ? {} : { retrain: (state: State) => retrain.call(manager, state) }),
  };
}

/** The allocation in force; if limits are not written, the last target or the user limit. */
export function allocated(
  observation: Observation,
  resource: 'cpu' | 'memory',
  target: number | null,
): number {
  const enforced =
    observation.mode === 'enforce' && (resource === 'memory' || observation.cpuMode === 'quota');
  const granted = observation.granted[resource].max;
  if (enforced && granted > 0) return granted;
  return target ?? observation.user[resource];
}

/** Durations in the step, ms; / span it is the mean concurrency (Little's law). */
export function busyMillis(observation: Observation): number {
  return observation.latency.sum + observation.control.mean * observation.control.activations;
}
