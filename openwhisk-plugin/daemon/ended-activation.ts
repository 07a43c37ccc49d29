import type { Micros } from '../../config/index.js';
import type { Run } from '../decision/index.js';
import type { ContainerInfo } from '../host/ports/index.js';

/** How an activation's end was learned. Only `answer` can teach anything. */
export type EndReason =
  | 'answer'
  | 'closed'
  | 'reset'
  | 'container_end'
  | 'deadline'
  | 'next_head'
  /** Its `/init` failed, so that it never got a `/run`. */
  | 'init_failed'
  | 'tap_lost'
  | 'stopped';

/**
 * What is left to tell of an activation once it has ended: all that explanations and control steps
 * know of it.
 */
export interface EndedActivation {
  readonly id: string;
  readonly run: Run;
  readonly revision: { readonly version: string };
  readonly container: { readonly info: ContainerInfo };
  /** Kernel's stamp of the request's head. */
  readonly startedAt: Micros;
  /** Run time without pauses, us. */
  readonly duration: Micros;
  readonly initMicros: Micros;
  /** First activation of its container: `initMicros` belongs to it. */
  readonly cold: boolean;
  readonly reason: EndReason;
  readonly status: number;
  /** Ended by its answer, with both clocks agreeing: peaks and duration may be learned. */
  readonly clean: boolean;
}
