import { ErrorCode, NatsError } from 'nats';
import { GleanerError, messageOf } from '../../config/index.js';
import {
  BrokerAuthError,
  BrokerDisconnectedError,
  BrokerTlsError,
  MessageTooLargeError,
  NoJetStreamError,
  RequestTimeoutError,
  StoreError,
} from '../errors.js';

const AUTH: readonly string[] = [
  ErrorCode.BadAuthentication,
  ErrorCode.BadCreds,
  ErrorCode.AuthorizationViolation,
  ErrorCode.AuthenticationExpired,
  ErrorCode.AuthenticationTimeout,
  ErrorCode.AccountExpired,
  ErrorCode.PermissionsViolation,
];

export const codeOf = (error: unknown): string => (error instanceof NatsError ? error.code : '');

/** JetStream's own number of an error; undefined: it is none of JetStream's. */
export const errorCodeOf = (error: unknown): number | undefined =>
  (error as { api_error?: { err_code?: number } } | null)?.api_error?.err_code;

/** True where trying again at once cannot help: an operator must mend it. */
export const isAuthError = (error: unknown): boolean => AUTH.includes(codeOf(error));

/** Node's codes for a certificate that is not believed, and the client's for a server without TLS. */
const TLS = /^(UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|CERT_|ERR_TLS_|ERR_SSL_|TLS$|INVALID_CA|HOSTNAME_MISMATCH)/;

const isTlsError = (error: unknown): boolean => TLS.test(String((error as { code?: unknown } | null)?.code ?? ''));

/** An error of the connection. */
export function connectionError(operation: string, error: unknown): GleanerError {
  if (error instanceof GleanerError) return error;
  if (isAuthError(error)) return new BrokerAuthError(messageOf(error), error);
  if (isTlsError(error)) return new BrokerTlsError(messageOf(error), error);
  return new BrokerDisconnectedError(`${operation}: ${messageOf(error)}`, error);
}

/** An error of an operation on a store. */
export function storeError(operation: string, error: unknown, timeoutMillis: number): GleanerError {
  if (error instanceof GleanerError) return error;
  if (isAuthError(error)) return new BrokerAuthError(messageOf(error), error);
  const code = codeOf(error);
  if (code === ErrorCode.JetStreamNotEnabled) return new NoJetStreamError(operation, error);
  if (code === ErrorCode.Timeout) return new RequestTimeoutError(operation, timeoutMillis);
  if (code === ErrorCode.MaxPayloadExceeded) return new MessageTooLargeError(operation, 0, 0);
  if (code === ErrorCode.ConnectionClosed || code === ErrorCode.Disconnect || code === ErrorCode.ConnectionDraining) {
    return new BrokerDisconnectedError(operation, error);
  }
  return new StoreError(operation, error);
}

/** The stream behind a store is not there (any more): opening it anew makes it. */
export function isMissingStore(error: unknown): boolean {
  if (codeOf(error) === ErrorCode.JetStreamNotEnabled) return true;
  return /stream not found|no stream/i.test(messageOf(error));
}
