import { errorClass } from '../../../config/index.js';

/** No connection, a deadline passed, or the breaker is open. */
export class EngineUnavailableError extends errorClass('GLN_ENGINE_UNAVAILABLE') {}

/** The engine answered, but with an error status. */
export class EngineStatusError extends errorClass('GLN_ENGINE_STATUS') {
  readonly status: number;

  constructor(path: string, status: number, body: string) {
    super(path, status, body.slice(0, 200));
    this.status = status;
  }
}

/** The answer is too long, not JSON, or not of the shape the Engine API promises. */
export class EngineResponseError extends errorClass('GLN_ENGINE_ANSWER') {}

/** An engine (kind, API version, cgroup driver) that Gleaner cannot manage. */
export class EngineUnsupportedError extends errorClass('GLN_ENGINE_UNSUPPORTED') {}

/** A prefix with which no container's name can begin. */
export class ContainerPrefixError extends errorClass('GLN_ENGINE_PREFIX') {}
