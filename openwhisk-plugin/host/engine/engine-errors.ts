import { errorClass, messageOf } from '../../../config/index.js';

/** No connection, a deadline passed, or the breaker is open. */
export class EngineUnavailableError extends errorClass('GLN_ENGINE_UNAVAILABLE') {}

/** The engine answered, but with an error status of HTTP or gRPC. */
export class EngineStatusError extends errorClass('GLN_ENGINE_STATUS') {
  readonly status: number;

  constructor(request: string, status: number, body: string) {
    super(request, status, body.slice(0, 200));
    this.status = status;
  }
}

/** The answer is too long, or not of the shape that the engine's API promises. */
export class EngineResponseError extends errorClass('GLN_ENGINE_ANSWER') {}

/** An engine (kind, API version, cgroup driver) that Gleaner cannot manage. */
export class EngineUnsupportedError extends errorClass('GLN_ENGINE_UNSUPPORTED') {}

/** An error of another kind is one of the connection. */
export function engineError(
  error: unknown,
  context?: string,
): EngineUnavailableError | EngineResponseError {
  if (error instanceof EngineUnavailableError || error instanceof EngineResponseError) return error;
  const cause = messageOf(error);
  return new EngineUnavailableError(context ? `${context}: ${cause}` : cause, error);
}
