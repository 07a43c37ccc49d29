/** How an activation ended. */
export const ClusterOutcome = {
  success: 0,
  /** Reached its time limit in init or run. */
  timeout: 1,
  outOfMemory: 2,
  /** Its host failed. */
  lost: 3,
  /** No host was there to take it. */
  rejected: 4,
} as const;

/** How the container was had. */
export const StartKind = { warm: 0, prewarmed: 1, cold: 2, none: 3 } as const;

/** The result of one activation. Times in us of simulated time; NaN if it did not get that far. */
export interface SimulatedActivation {
  /** Place in the stream, from 0. */
  readonly activation: number;
  readonly fn: number;
  readonly host: number;
  readonly start: number;
  readonly outcome: number;
  readonly arrivedAt: number;
  /** When a container was found for it: what lies before is waiting. */
  readonly placedAt: number;
  /** When `/run` began: what lies between is unpausing, or cold start and `/init`. */
  readonly runAt: number;
  readonly endedAt: number;
  /** Core-us it has used, init not counted. */
  readonly cpu: number;
  /** Contention-free duration at its true demand, and alone at the user's limits. */
  readonly soloMicros: number;
  readonly userMicros: number;
}

/** Called when an activation ends, in order of ending. The record is reused: copy what you keep. */
export interface ActivationRecorder {
  record(activation: SimulatedActivation): void;
}

/** Keeps all of them. */
export class ActivationLog implements ActivationRecorder {
  readonly activations: SimulatedActivation[] = [];

  record(activation: SimulatedActivation): void {
    this.activations.push({ ...activation });
  }
}
