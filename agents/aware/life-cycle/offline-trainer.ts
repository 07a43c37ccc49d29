import type { Logger } from '../../../broker/index.js';
import type { Engine } from '../../nn/index.js';
import { type TrainingJob, TrainingQueue, type TrainingResult, train } from '../../ppo/index.js';
import {
  type FirmTrainingJob,
  type FirmTrainingResult,
  trainFirmOffline,
} from './firm-training.js';
import { learnOffline, type OfflineJob, type OfflineResult } from './offline.js';

/** One training round: on the fallback's episodes, or on the agent's own steps. Plain data. */
export type OfflineTrainingJob =
  | { readonly kind: 'offline'; readonly job: OfflineJob }
  | { readonly kind: 'firm-offline'; readonly job: FirmTrainingJob }
  | { readonly kind: 'update'; readonly job: TrainingJob };

export type OfflineTrainingResult = OfflineResult | FirmTrainingResult | TrainingResult;

/** Trains learners elsewhere. Null: nothing was learned, and the learner keeps its weights. */
export interface OfflineTrainer {
  trainOffline(job: OfflineJob): Promise<OfflineResult | null>;
  trainFirmOffline(job: FirmTrainingJob): Promise<FirmTrainingResult | null>;
  update(job: TrainingJob): Promise<TrainingResult | null>;
  close(): Promise<void>;
}

export function runTraining(engine: Engine, request: OfflineTrainingJob): OfflineTrainingResult {
  if (request.kind === 'offline') return learnOffline(engine, request.job);
  return request.kind === 'firm-offline'
    ? trainFirmOffline(engine, request.job)
    : train(engine, request.job);
}

/** Trains in a worker thread, so that no decision waits for it. */
export class ThreadOfflineTrainer implements OfflineTrainer {
  readonly #queue: TrainingQueue<OfflineTrainingJob, OfflineTrainingResult>;

  constructor(logger?: Logger) {
    const script = new URL('offline-trainer-thread.js', import.meta.url);
    this.#queue = new TrainingQueue({ script, owner: 'agents of manager aware', logger });
  }

  get counts(): TrainingQueue['counts'] {
    return this.#queue.counts;
  }

  trainOffline(job: OfflineJob): Promise<OfflineResult | null> {
    return this.#queue.learn({ kind: 'offline', job }) as Promise<OfflineResult | null>;
  }

  trainFirmOffline(job: FirmTrainingJob): Promise<FirmTrainingResult | null> {
    return this.#queue.learn({ kind: 'firm-offline', job }) as Promise<FirmTrainingResult | null>;
  }

  update(job: TrainingJob): Promise<TrainingResult | null> {
    return this.#queue.learn({ kind: 'update', job }) as Promise<TrainingResult | null>;
  }

  close(): Promise<void> {
    return this.#queue.close();
  }
}
