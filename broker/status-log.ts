import type { Logger } from './logger.js';
import type { BrokerStatus } from './port.js';

/** Logs the errors among the states of a connection; others are the caller's. */
export function logBrokerErrors(status: BrokerStatus, logger: Logger): void {
  if (status.kind !== 'error' && status.kind !== 'handler_failed') return;
  const { code, hint, message, cause } = status.error;
  // A refusal by the server is no defect, and needs no stack.
  const defect = status.kind === 'handler_failed' && cause instanceof Error;
  const suppressedLines = status.kind === 'error' ? (status.suppressed ?? 0) : 0;
  const fields = {
    code,
    hint,
    ...(suppressedLines > 0 ? { suppressedLines } : {}),
    ...(defect ? { stack: cause.stack } : {}),
  };
  logger.error(fields, message);
}
