import type { Cancel } from '../config/index.js';
import type { Logger } from './logger.js';
import type { Broker, BrokerStatus } from './port.js';

/** Logs each change of the connection, and its errors. `whileAway`: what this part does then. */
export function logConnection(broker: Broker, logger: Logger, whileAway: string): Cancel {
  return broker.onStatus((status) => {
    if (status.kind === 'connected') logger.info({ server: status.server }, 'connected to NATS');
    else if (status.kind === 'disconnected') logger.warn({}, `NATS is disconnected: ${whileAway}`);
    else logErrors(status, logger);
  });
}

function logErrors(
  status: Extract<BrokerStatus, { kind: 'error' | 'handler_failed' }>,
  logger: Logger,
): void {
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
