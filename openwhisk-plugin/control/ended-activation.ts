import type { Micros } from '../../config/index.js';
import type { Run, UserLimits } from '../decision/index.js';

/** How an activation's end was learned. Only `answer` is used for learning. */
export type EndReason =
  | 'answer'
  | 'closed'
  | 'reset'
  | 'container_end'
  | 'deadline'
  | 'next_head'
  /** Its `/init` failed, so it never got a `/run`. */
  | 'init_failed'
  | 'tap_lost'
  | 'stopped'
  /** The user changed its container's limits. The rest of it, under the same id, counts for it. */
  | 'limits_changed';

/** What explanations and control steps read of an activation after its end. */
export interface EndedActivation {
  readonly id: string;
  readonly run: Run;
  readonly revision: { readonly version: string };
  readonly container: { readonly id: string; readonly user: UserLimits };
  /** Kernel's stamp of the request's head. */
  readonly startedAt: Micros;
  /** Run time without pauses, us. */
  readonly duration: Micros;
  readonly initMicros: Micros;
  readonly cold: boolean;
  readonly reason: EndReason;
  readonly status: number;
  readonly clean: boolean;
  readonly stepped: boolean;
  /** Its user limits were changed while it ran. */
  readonly limitsChanged: boolean;
}
