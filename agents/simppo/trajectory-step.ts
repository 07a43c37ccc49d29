import type { Observation } from '../../broker/messages/index.js';

/** One step of one agent as it was executed; the arrays are not changed afterwards. */
export interface TrajectoryStep {
  readonly fn: string;
  readonly manager: string;
  readonly invoker: Observation['host'];
  readonly policy: 'own' | 'base';
  readonly updates: number;
  readonly sampled: boolean;
  readonly episode: number;
  readonly step: number;
  readonly state: Float32Array;
  readonly mask: Uint8Array;
  readonly action: number;
  readonly logProbability: number;
  readonly reward: number;
  readonly discount: number;
  /** ms. */
  readonly span: number;
}
