import type { Observation } from '../../broker/messages/index.js';
import type { Millis } from '../../config/index.js';
import type { ResourceManager } from '../resource-manager.js';
import { busyMillis, CONTAINERS_MAX } from '../validation.js';
import { containersOf, type HostSnapshot, withHostSnapshot } from './host-snapshots.js';

// Knative's defaults [Knative KPA]: windows of 60 s and 6 s in ticks of 2 s.
const TICK = 2000;
const STABLE_TICKS = 30;
const PANIC_TICKS = 3;
/** Panic mode starts at this ratio of desired to ready containers. */
const PANIC_THRESHOLD = 2;
/** Target share of a container's concurrency. */
const UTILIZATION = 0.7;
const RISE_RATE = 1000;
const FALL_RATE = 2;

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
function withConcurrency(state: KpaState, observation: Observation, now: Millis): KpaState {
  // The instant between two ticks belongs to the earlier one.
  const tick = Math.max(state.tick, Math.ceil(now / TICK) - 1);
  const moved = Math.min(STABLE_TICKS, tick - state.tick);
  const ticks: number[] =
    state.ticks.length > 0
      ? [...state.ticks.slice(moved), ...new Array<number>(moved).fill(0)]
      : new Array<number>(STABLE_TICKS).fill(0);
  const { span } = observation;
  const concurrency = busyMillis(observation) / span;
  const from = now - span;
  for (let i = 0; i < STABLE_TICKS; i++) {
    const start = (tick - STABLE_TICKS + 1 + i) * TICK;
    const overlap = Math.min(now, start + TICK) - Math.max(from, start);
    if (overlap > 0) ticks[i] = ticks[i]! + (concurrency * overlap) / TICK;
  }
  return { ...state, ticks, tick, firstAt: state.firstAt ?? (from as Millis) };
}

/** Mean concurrency over the last `count` ticks, up to now and not before the first step. */
function averageOver(state: KpaState, count: number, now: Millis): number {
  const mass = state.ticks.slice(-count).reduce((total, one) => total + one, 0) * TICK;
  const window = Math.min(now - (state.tick - count + 1) * TICK, now - (state.firstAt ?? now));
  return window > 0 ? mass / window : 0;
}

/**
 * Knative's pod autoscaler [Knative KPA] over 60 s, or over 6 s in panic mode, in which the number
 * never falls. Concurrency follows from durations by Little's law. A step longer than the panic
 * window is spread evenly, so panic starts a step late. OpenWhisk scales to zero itself.
 */
export function kpaManager(): ResourceManager<KpaState> {
  return {
    name: 'kpa',
    initialState: () => KPA_INITIAL,
    phase: () => 'managing',
    decide(before, { observation }, now) {
      const hostSnapshots = withHostSnapshot(before.hostSnapshots, observation, now);
      let state: KpaState = { ...before, hostSnapshots };
      const previous = before.containers ?? containersOf(hostSnapshots);
      if (observation.span >= 1) {
        state = withConcurrency(state, observation, now);
        state = kpaStep(state, observation.concurrency, now);
      }
      const { containers } = state;
      if (containers === null) return { state, decision: { actions: [0, 0, 0] } };
      return { state, decision: { containers, actions: [Math.sign(containers - previous), 0, 0] } };
    },
  };
}

function kpaStep(state: KpaState, perContainer: number, now: Millis): KpaState {
  const ready = Math.max(1, containersOf(state.hostSnapshots));
  const target = UTILIZATION * perContainer;
  const low = Math.floor(ready / FALL_RATE);
  const high = Math.ceil(RISE_RATE * ready);
  const desiredOver = (ticks: number): number =>
    Math.min(high, Math.max(low, Math.ceil(averageOver(state, ticks, now) / target - 1e-9)));
  const stable = desiredOver(STABLE_TICKS);
  const panic = desiredOver(PANIC_TICKS);
  let { panicAt, panicMost } = state;
  if (panic / ready >= PANIC_THRESHOLD) {
    if (panicAt === null) panicMost = 0;
    panicAt = now;
  } else if (panicAt !== null && now - panicAt >= STABLE_TICKS * TICK) {
    panicAt = null;
    panicMost = 0;
  }
  let desired = stable;
  if (panicAt !== null) {
    panicMost = Math.max(panicMost, stable, panic);
    desired = panicMost;
  }
  return {
    ...state,
    panicAt,
    panicMost,
    containers: Math.min(CONTAINERS_MAX, Math.max(1, desired)),
  };
}
