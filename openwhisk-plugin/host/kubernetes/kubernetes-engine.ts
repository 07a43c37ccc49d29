import type { Millis } from '../../../config/index.js';
import { ReconcilingEngine } from '../engine/index.js';
import { CriReader, type CriReaderOptions } from './cri-reader.js';

export interface KubernetesEngineOptions extends CriReaderOptions {
  /** Between two complete listings; events come in between. Default 30 s. */
  readonly reconcileEvery?: Millis;
}

/** OpenWhisk's action pods on this Kubernetes node, without the Kubernetes API. */
export class KubernetesEngine extends ReconcilingEngine {
  constructor({ reconcileEvery, ...options }: KubernetesEngineOptions) {
    super(new CriReader(options), reconcileEvery);
  }
}
