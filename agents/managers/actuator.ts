import type { Bytes, Millicores, Millis } from '../../config/index.js';
import type { Decision } from '../resource-manager.js';
import { type Bounds, needsUpdate, type VpaConstants } from './vpa.js';

/** A recommender's output; absent members recommend nothing. Millicores, bytes. */
export interface Recommendation {
  readonly cpu?: Bounds;
  readonly memory?: Bounds;
  readonly containers?: number;
  /** Apply immediately: there was an OOM kill. */
  readonly urgent: boolean;
}

/** The limits in force, as far as the actuator knows; null: the user's or OpenWhisk's own. */
export interface InForce {
  readonly cpu: number | null;
  readonly memory: number | null;
  readonly containers: number | null;
  /** Times of the last change of the sizes and of the number of containers. */
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

/** Least time between two changes of the sizes, or of the number; [AWARE] waits 10 s. */
const PAUSE_MILLIS = 10_000;

/**
 * Idempotent and rate limited. Small changes are held back by the updater's rule; an urgent
 * recommendation is applied at once.
 */
export function actuate(
  before: InForce,
  recommendation: Recommendation | null,
  user: { readonly cpu: number; readonly memory: number },
  since: Millis,
  vpa: VpaConstants,
  now: Millis,
): { readonly inForce: InForce; readonly decision: Decision } {
  let { cpu, memory, containers, sizedAt, scaledAt } = before;
  const heldCpu = cpu ?? user.cpu;
  const heldMemory = memory ?? user.memory;
  const heldContainers = containers;
  if (recommendation !== null) {
    const { urgent } = recommendation;
    const lastSize = sizedAt ?? since;
    if (urgent || sizedAt === null || now - sizedAt >= PAUSE_MILLIS) {
      const isOutdated = (held: number, of: Bounds | undefined): boolean =>
        of !== undefined && needsUpdate(now, held, of, lastSize, vpa);
      if (
        urgent ||
        isOutdated(heldCpu, recommendation.cpu) ||
        isOutdated(heldMemory, recommendation.memory)
      ) {
        cpu = recommendation.cpu?.target ?? cpu;
        memory = recommendation.memory?.target ?? memory;
      }
      if ((cpu ?? user.cpu) !== heldCpu || (memory ?? user.memory) !== heldMemory) sizedAt = now;
    }
    const recommended = recommendation.containers;
    if (
      recommended !== undefined &&
      recommended !== containers &&
      (scaledAt === null || now - scaledAt >= PAUSE_MILLIS)
    ) {
      containers = recommended;
      scaledAt = now;
    }
  }
  const inForce = { cpu, memory, containers, sizedAt, scaledAt };
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
