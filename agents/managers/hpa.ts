import type { Observation } from '../../broker/messages/index.js';
import type { Millis } from '../../config/index.js';
import type { ResourceManager } from '../resource-manager.js';
import { CONTAINERS_MAX } from '../validation.js';
import { busyOf, containersOf, type HostSnapshot, withHostSnapshot } from './host-snapshots.js';

/** Constants of the horizontal pod autoscaler. Times in ms. */
export interface HpaConstants {
  /** Target utilization: CPU use as a share of the containers' allocation. */
  readonly target: number;
  /** No change while use / target is within 1 ± this. */
  readonly tolerance: number;
  readonly sync: number;
  /** A scale-down uses the highest recommendation of this window. */
  readonly stabilization: number;
  /** Largest scale-up per sync: the larger of a number and a share. */
  readonly riseContainers: number;
  readonly riseShare: number;
  readonly least: number;
  readonly most: number;
}

/** Kubernetes' defaults [HPA]; [AWARE] tunes the target for each workload. */
export const HPA_PUBLISHED: HpaConstants = {
  target: 0.6,
  tolerance: 0.1,
  sync: 15_000,
  stabilization: 300_000,
  riseContainers: 4,
  riseShare: 1,
  least: 1,
  most: CONTAINERS_MAX,
};

interface Recommended {
  readonly at: Millis;
  readonly containers: number;
}

export interface HpaState {
  readonly hostSnapshots: readonly HostSnapshot[];
  readonly recommended: readonly Recommended[];
  readonly syncedAt: Millis | null;
  /** The last target; null before the first. */
  readonly containers: number | null;
}

export const HPA_INITIAL: HpaState = {
  hostSnapshots: [],
  recommended: [],
  syncedAt: null,
  containers: null,
};

/** ceil(current × use / target), or `current` within the tolerance. */
export function desiredContainers(current: number, use: number, constants: HpaConstants): number {
  const ratio = use / constants.target;
  // The epsilon keeps a ratio of exactly 1.1 within the tolerance despite rounding.
  if (Math.abs(ratio - 1) <= constants.tolerance + 1e-9) return current;
  return Math.ceil(current * ratio - 1e-9);
}

/** One sync. `busy`: millicores in use by `current` containers of `request` millicores each. */
export function hpaStep(
  state: HpaState,
  busy: number,
  current: number,
  request: number,
  constants: HpaConstants,
  now: Millis,
): HpaState {
  const { least, most, stabilization, riseContainers, riseShare } = constants;
  const clamp = (n: number): number => Math.min(most, Math.max(least, n));
  const desired = clamp(desiredContainers(current, busy / (current * request), constants));
  const recommended = [
    ...state.recommended.filter((one) => now - one.at <= stabilization),
    { at: now, containers: desired },
  ];
  let containers = desired;
  if (desired < current) {
    // Scale down to the highest recommendation of the window, but never up.
    containers = Math.min(current, Math.max(...recommended.map((one) => one.containers)));
  } else {
    containers = Math.min(
      desired,
      Math.max(current + riseContainers, Math.floor(current * (1 + riseShare))),
    );
  }
  return { ...state, recommended, syncedAt: now, containers: clamp(containers) };
}

/** Takes in an observation and syncs if it is due; `request`: of a container, null: as granted. */
export function hpaObserve(
  before: HpaState,
  observation: Observation,
  request: number | null,
  constants: HpaConstants,
  now: Millis,
): HpaState {
  const hostSnapshots = withHostSnapshot(before.hostSnapshots, observation, now);
  const state = { ...before, hostSnapshots };
  const current = containersOf(hostSnapshots);
  const due = state.syncedAt === null || now - state.syncedAt >= constants.sync;
  if (!due || current === 0 || observation.span < 1) return state;
  const { granted, user } = observation;
  const limit = granted.cpu.mean > 0 ? granted.cpu.mean : user.cpu;
  return hpaStep(state, busyOf(hostSnapshots), current, request ?? limit, constants, now);
}

/**
 * The horizontal pod autoscaler [HPA] on CPU utilization, averaged over the step with idle
 * containers. OpenWhisk creates containers itself, so the target is a cap.
 */
export function hpaManager(constants: HpaConstants): ResourceManager<HpaState> {
  return {
    name: 'hpa',
    initialState: () => HPA_INITIAL,
    phase: () => 'managing',
    decide(before, { observation }, now) {
      const state = hpaObserve(before, observation, null, constants, now);
      const target = before.containers ?? containersOf(state.hostSnapshots);
      const { containers } = state;
      if (containers === null) return { state, decision: { actions: [0, 0, 0] } };
      return { state, decision: { containers, actions: [Math.sign(containers - target), 0, 0] } };
    },
  };
}
