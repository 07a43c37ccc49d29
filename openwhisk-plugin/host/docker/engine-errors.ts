import { GleanerError } from '../../../config/index.js';

/**
 * No connection, a deadline passed, or the breaker is open: what is known of the containers stays
 * in force.
 */
export class EngineUnavailableError extends GleanerError {
  readonly code = 'GLN_ENGINE_UNAVAILABLE';

  constructor(message: string, cause?: unknown) {
    super(message, {
      hint: 'Is the Docker daemon running, and may this user open its socket? Gleaner tries again by itself.',
      cause,
    });
  }
}

/** The engine answered, but with an error status. */
export class EngineStatusError extends GleanerError {
  readonly code = 'GLN_ENGINE_STATUS';
  readonly status: number;

  constructor(path: string, status: number, body: string) {
    super(`GET ${path} was answered with ${status}: ${body.slice(0, 200)}`, {
      hint: "See the Docker daemon's own log (journalctl -u docker) for the cause.",
    });
    this.status = status;
  }
}

/** The answer is too long, not JSON, or not of the shape the Engine API promises. */
export class EngineResponseError extends GleanerError {
  readonly code = 'GLN_ENGINE_ANSWER';

  constructor(message: string, cause?: unknown) {
    super(message, {
      hint: 'Is this socket really a Docker Engine? Set engine.socket to its path.',
      cause,
    });
  }
}

/** An engine (kind, API version, cgroup driver) that Gleaner cannot manage. */
export class EngineUnsupportedError extends GleanerError {
  readonly code = 'GLN_ENGINE_UNSUPPORTED';
}

/** A prefix with which no container's name can begin. */
export class ContainerPrefixError extends GleanerError {
  readonly code = 'GLN_ENGINE_PREFIX';
}
