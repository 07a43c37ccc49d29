import type { Observation } from '../../broker/messages/index.js';
import type { Millis } from '../../config/index.js';
import type { ResourceManager } from '../resource-manager.js';
import { containersOf, type HostSnapshot, withHostSnapshot } from './host-snapshots.js';
import { busyMillis, CONTAINERS_MAX } from './validation.js';

/** Constants of Knative's pod autoscaler. Times in ms. */
export interface KpaConstants {
  readonly tick: number;
  readonly stableTicks: number;
  readonly panicTicks: number;
  /** Panic mode starts at this ratio of desired to ready containers. */
  readonly panicThreshold: number;
  /** Target utilization: share of a container's concurrency. */
  readonly utilization: number;
  readonly riseRate: number;
  readonly fallRate: number;
  readonly least: number;
  readonly most: number;
}

/** Knative's defaults [Knative KPA]: windows of 60 s and 6 s in ticks of 2 s. */
export const KPA_PUBLISHED: KpaConstants = {
  tick: 2000,
  stableTicks: 30,
  panicTicks: 3,
  panicThreshold: 2,
  utilization: 0.7,
  riseRate: 1000,
  fallRate: 2,
  least: 1,
  most: CONTAINERS_MAX,
};

export interface KpaState {
  readonly hostSnapshots: readonly HostSnapshot[];
  /** Mean concurrency per tick, the newest last; `tick` is the number of the newest. */
  readonly ticks: readonly number[];
  readonly tick: number;
  /** Start of the first step: a window does not reach further back. */
  readonly firstAt: Millis | null;
  /** When the panic condition last held; null outside of panic mode. */
  readonly panicAt: Millis | null;
  readonly panicMost: number;
  readonly containers: number | null;
}

const KPA_INITIAL: KpaState = {
  hostSnapshots: [],
  ticks: [],
  tick: 0,
  firstAt: null,
  panicAt: null,
  panicMost: 0,
  containers: null,
};

/** Spreads the step's mean concurrency over the ticks that it covers; hosts are summed. */
function withConcurrency(
  state: KpaState,
  observation: Observation,
  constants: KpaConstants,
  now: Millis,
): KpaState {
  const { tick: length, stableTicks } = constants;
  // The instant between two ticks belongs to the earlier one.
  const tick = Math.max(state.tick, Math.ceil(now / length) - 1);
  const moved = Math.min(stableTicks, tick - state.tick);
  const ticks: number[] =
    state.ticks.length > 0
      ? [...state.ticks.slice(moved), ...new Array<number>(moved).fill(0)]
      : new Array<number>(stableTicks).fill(0);
  const { span } = observation;
  const concurrency = busyMillis(observation) / span;
  const from = now - span;
  for (let i = 0; i < stableTicks; i++) {
    const start = (tick - stableTicks + 1 + i) * length;
    const overlap = Math.min(now, start + length) - Math.max(from, start);
    if (overlap > 0) ticks[i] = ticks[i]! + (concurrency * overlap) / length;
  }
  return { ...state, ticks, tick, firstAt: state.firstAt ?? (from as Millis) };
}

/** Mean concurrency over the last `count` ticks, up to now and not before the first step. */
function averageOver(state: KpaState, count: number, length: number, now: Millis): number {
  const mass = state.ticks.slice(-count).reduce((total, one) => total + one, 0) * length;
  const window = Math.min(now - (state.tick - count + 1) * length, now - (state.firstAt ?? now));
  return window > 0 ? mass / window : 0;
}

/**
 * Knative's pod autoscaler [Knative KPA]: containers = mean concurrency / (70 % of a container's
 * concurrency limit), over 60 s, or over 6 s in panic mode, in which the number never falls.
 * Concurrency follows from durations by Little's law; a step longer than the panic window is spread
 * evenly, so panic starts a step late. Scaling to zero is left to OpenWhisk.
 */
export function kpaManager(constants: KpaConstants): ResourceManager<KpaState> {
  return {
    name: 'kpa',
    initialState: () => KPA_INITIAL,
    phase: () => 'managing',
    decide(before, { observation }, now) {
      const hostSnapshots = withHostSnapshot(before.hostSnapshots, observation, now);
      let state: KpaState = { ...before, hostSnapshots };
      const previous = before.containers ?? containersOf(hostSnapshots);
      if (observation.span >= 1) {
        state = withConcurrency(state, observation, constants, now);
        state = kpaStep(state, observation.concurrency, constants, now);
      }
      const { containers } = state;
      if (containers === null) return { state, decision: { actions: [0, 0, 0] } };
      return { state, decision: { containers, actions: [Math.sign(containers - previous), 0, 0] } };
    },
  };
}

function kpaStep(
  state: KpaState,
  perContainer: number,
  constants: KpaConstants,
  now: Millis,
): KpaState {
  const {
    tick,
    stableTicks,
    panicTicks,
    panicThreshold,
    utilization,
    riseRate,
    fallRate,
    least,
    most,
  } = constants;
  const ready = Math.max(1, containersOf(state.hostSnapshots));
  const target = utilization * perContainer;
  const low = Math.floor(ready / fallRate);
  const high = Math.ceil(riseRate * ready);
  const desiredOver = (ticks: number): number =>
    Math.min(high, Math.max(low, Math.ceil(averageOver(state, ticks, tick, now) / target - 1e-9)));
  const stable = desiredOver(stableTicks);
  const panic = desiredOver(panicTicks);
  let { panicAt, panicMost } = state;
  if (panic / ready >= panicThreshold) {
    if (panicAt === null) panicMost = 0;
    panicAt = now;
  } else if (panicAt !== null && now - panicAt >= stableTicks * tick) {
    panicAt = null;
    panicMost = 0;
  }
  let desired = stable;
  if (panicAt !== null) {
    panicMost = Math.max(panicMost, stable, panic);
    desired = panicMost;
  }
  return { ...state, panicAt, panicMost, containers: Math.min(most, Math.max(least, desired)) };
}
