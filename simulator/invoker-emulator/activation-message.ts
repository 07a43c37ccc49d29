import type { ResolvedAction } from './action.js';
import type { ActivationResponse } from './activation-response.js';

/** One activation on its way through the invoker. */
export interface ActivationMessage {
  readonly action: ResolvedAction;
  readonly payload: unknown;
  readonly activationId: string;
  readonly transactionId: string;
  /** performance.now() at which the invoker was given it. */
  readonly acceptedMs: number;
  /**
   * Tells the caller, before the logs are collected (the active ack). Only the first call counts.
   */
  readonly finish: (result: CompletedActivation) => void;
}

interface CompletedActivation extends ActivationResponse {
  readonly waitMs: number;
  readonly initMs: number;
  readonly runMs: number;
  readonly containerName: string | null;
  readonly cold: boolean;
  /**
   * From the beginning of the container's creation to the answer of `/init`, ms; null where the
   * container was there already.
   */
  readonly coldStartMs: number | null;
}
