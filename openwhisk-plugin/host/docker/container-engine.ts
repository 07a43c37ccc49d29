import type { ContainerEngine } from '../ports/index.js';
import { DockerEngine, type DockerEngineOptions } from './docker-engine.js';
import { EngineUnsupportedError } from './engine-errors.js';

/**
 * The engine of a configuration's `engine.kind`. Throws EngineUnsupportedError for all but
 * `docker`.
 */
export function containerEngine(kind: string, options: DockerEngineOptions): ContainerEngine {
  if (kind === 'docker') return new DockerEngine(options);
  throw new EngineUnsupportedError(`container engine '${kind}' is not supported`);
}
