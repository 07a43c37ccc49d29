import type { Bytes, Millicores, Millis } from '../../config/index.js';
import type { Decision } from '../resource-manager.js';
import type { StoredRecommendation } from './decision-store.js';
import { needsUpdate, type VpaConstants } from './vpa.js';

/** What is in force, as far as the actuator knows; null: the user's, or as OpenWhisk makes them. */
export interface InForce {
  readonly cpu: number | null;
  readonly memory: number | null;
  readonly containers: number | null;
  /** When sizes last changed, and the number. */
  readonly sizedAt: Millis | null;
  readonly scaledAt: Millis | null;
}

export const NOTHING_IN_FORCE: InForce = {
  cpu: null,
  memory: null,
  containers: null,
  sizedAt: null,
  scaledAt: null,
};

export interface ActuatorConstants {
  /**
   * Least time between two changes of the sizes, and of the number (AWARE waits 10 s after each,
   * simppo-aware.md §1.8).
   */
  readonly pause: number;
  /** Decides nothing, but what it would have done is in its state. */
  readonly dryRun: boolean;
}

/**
 * Brings what is stored into force: idempotent, rate limited, with a dry run. The updater's test
 * keeps small changes back; an urgent recommendation waits for nothing. Returns what is in force
 * now and the decision that says so.
 */
export function actuate(
  before: InForce,
  store: StoredRecommendation | null,
  user: { readonly cpu: number; readonly memory: number },
  since: Millis,
  constants: ActuatorConstants,
  vpa: VpaConstants,
  now: Millis,
): { readonly inForce: InForce; readonly decision: Decision } {
  let { cpu, memory, containers, sizedAt, scaledAt } = before;
  const heldCpu = cpu ?? user.cpu;
  const heldMemory = memory ?? user.memory;
  const heldContainers = containers;
  if (store !== null) {
    const lastSize = sizedAt ?? since;
    if (store.urgent || sizedAt === null || now - sizedAt >= constants.pause) {
      const isOutdated = (held: number, of: typeof store.cpu): boolean =>
        of !== undefined && needsUpdate(now, held, of, lastSize, vpa);
      if (store.urgent || isOutdated(heldCpu, store.cpu) || isOutdated(heldMemory, store.memory)) {
        cpu = store.cpu?.target ?? cpu;
        memory = store.memory?.target ?? memory;
      }
      if ((cpu ?? user.cpu) !== heldCpu || (memory ?? user.memory) !== heldMemory) sizedAt = now;
    }
    const recommended = store.containers;
    if (
      recommended !== undefined &&
      recommended !== containers &&
      (scaledAt === null || now - scaledAt >= constants.pause)
    ) {
      containers = recommended;
      scaledAt = now;
    }
  }
  const inForce = { cpu, memory, containers, sizedAt, scaledAt };
  if (constants.dryRun) return { inForce, decision: { actions: [0, 0, 0] } };
  const step = Math.sign;
  return {
    inForce,
    decision: {
      cpu: (cpu ?? user.cpu) as Millicores,
      memory: (memory ?? user.memory) as Bytes,
      ...(containers === null ? {} : { containers }),
      actions: [
        heldContainers === null || containers === null ? 0 : step(containers - heldContainers),
        step((cpu ?? user.cpu) - heldCpu),
        step((memory ?? user.memory) - heldMemory),
      ],
    },
  };
}
