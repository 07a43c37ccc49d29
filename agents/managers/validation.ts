import type { Observation } from '../../broker/messages/index.js';
import type { Bytes, Millicores, Millis } from '../../config/index.js';
import type { Cap, Decision, ResourceManager, View } from '../resource-manager.js';

/** No wish at all: hooks grant what the user asked for. */
export const NO_TARGET: Decision = { actions: [0, 0, 0] };

/**
 * Most containers of one function that a manager may wish for (AWARE: replicas 1..20,
 * simppo-aware.md §1.5).
 */
export const CONTAINERS_MAX = 20;

const amount = (value: number): boolean => Number.isFinite(value) && value >= 0;
const positive = (value: number): boolean => Number.isFinite(value) && value > 0;
const isRequested = (value: number | undefined): value is number =>
  value !== undefined && positive(value);

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * May a manager build on it? Messages are checked where they arrive; a simulator or a test calls
 * managers directly, so NaN, infinities and negative amounts are looked for here once, and in no
 * manager (field-notes A3-13).
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
    positive(observation.concurrency) &&
    amount(latency.sum) &&
    amount(control.activations) &&
    amount(control.mean)
  );
}

/** May it be sent to hooks? What is absent is no wish. */
export const isValidDecision = ({ cpu, memory, nominalMemory, weightFactor }: Decision): boolean =>
  [cpu, memory, nominalMemory, weightFactor].every(
    (value) => value === undefined || positive(value),
  );

/** Clips a wish; what is not a positive number is no wish. A user's limit above the cap stands. */
export function withinCaps(decision: Decision, observation: Observation, cap: Cap): Decision {
  const { user } = observation;
  // Without a memory limit there is nothing to lower, and nothing to lend.
  const limited = user.memory > 0;
  const { cpu, memory, nominalMemory, weightFactor, containers, concurrency, actions } = decision;
  // Assigned one by one: this runs at every step of every function, and spread objects are slow to
  // make.
  const kept: Mutable<Decision> = { actions };
  if (isRequested(cpu)) kept.cpu = Math.min(cpu, Math.max(cap.cpu, user.cpu)) as Millicores;
  if (limited && isRequested(memory))
    kept.memory = Math.ceil(Math.min(memory, Math.max(cap.memory, user.memory))) as Bytes;
  if (limited && isRequested(nominalMemory))
    kept.nominalMemory = Math.min(nominalMemory, Math.max(cap.memory, user.memory)) as Bytes;
  if (isRequested(weightFactor)) kept.weightFactor = weightFactor;
  if (isRequested(containers)) kept.containers = Math.min(CONTAINERS_MAX, Math.ceil(containers));
  if (isRequested(concurrency)) kept.concurrency = concurrency;
  return kept;
}

/**
 * The same manager, which answers nonsense with no wish and an unchanged state, and never wishes
 * past its cap.
 */
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
      const decision = withinCaps(result.decision, view.observation, cap);
      return { ...result, decision };
    },
    phase: (state) => manager.phase(state),
    // What a manager cannot do stays absent.
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

/** What was in force, where wishes are put in force; else the last wish, as if it had been. */
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

/**
 * Time that calls took in the step, ms, the control arm's included: over the span it is their mean
 * concurrency (Little).
 */
export function busyMillis(observation: Observation): number {
  return observation.latency.sum + observation.control.mean * observation.control.activations;
}

/**
 * The limit met by an OOM kill, and the larger of 20 % and 100 MB more (simppo-aware.md §4.5).
 * Bytes.
 */
export function afterOom(limit: number): number {
  return Math.max(1.2 * limit, limit + 100e6);
}
