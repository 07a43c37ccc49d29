import type { Millis } from '../../../config/index.js';
import { ReconcilingEngine } from '../engine/index.js';
import { DockerReader, type ReaderOptions } from './docker-reader.js';

export interface DockerEngineOptions extends ReaderOptions {
  /** Between two complete listings; events come in between. Default 30 s. */
  readonly reconcileEvery?: Millis;
}

/** The managed containers of Docker. */
export class DockerEngine extends ReconcilingEngine {
  constructor({ reconcileEvery, ...options }: DockerEngineOptions) {
    super(new DockerReader(options), reconcileEvery);
  }
}
