import { ErrorCode, NatsError } from 'nats';
import { GleanerError, messageOf } from '../../config/index.js';
import {
  BrokerAuthError,
  BrokerDisconnectedError,
  BrokerTlsError,
  BrokerUnreachableError,
  NoJetStreamError,
  PayloadLimitError,
  StoreConflictError,
  StoreError,
  StoreFullError,
  StoreTimeoutError,
  StoreUnavailableError,
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

/** JetStream's error codes by meaning. Their status is not enough: a full store has 503, too. */
type ErrorCategory =
  /** There is no JetStream for this account. */
  | 'absent'
  /** A limit of server, account or stream is reached: writes fail until space is freed. */
  | 'full'
  /** No leader, a server that starts, too many requests: the same request succeeds later. */
  | 'unavailable'
  /** A stream of this name or with these subjects exists and is configured for another use. */
  | 'conflict'
  /** The stream is gone; it is created again. */
  | 'missing_store'
  | 'missing_message'
  | 'changed'
  | 'too_large';

/** Codes with a meaning here, from server/errors.json [nats-server]. */
const CATEGORY_BY_CODE: Readonly<Record<number, ErrorCategory>> = {
  10002: 'full', // resource limits exceeded for account
  10008: 'unavailable', // JetStream system temporarily unavailable
  10009: 'unavailable', // JetStream cluster can not handle request
  10023: 'full', // insufficient resources
  10027: 'full', // maximum number of streams reached
  10028: 'full', // insufficient memory resources available
  10035: 'absent', // account not found
  10037: 'missing_message', // no message found
  10039: 'absent', // JetStream not enabled for account
  10043: 'missing_message', // sequence {seq} not found
  10047: 'full', // insufficient storage resources available
  10053: 'full', // stream limits exceeded
  10054: 'too_large', // message size exceeds maximum allowed
  10057: 'missing_message', // message deletion failed
  10058: 'conflict', // stream name already in use with a different configuration
  10059: 'missing_store', // stream not found
  10065: 'conflict', // subjects overlap with an existing stream
  10071: 'changed', // wrong last sequence: {seq}
  10076: 'absent', // JetStream not enabled
  10077: 'full', // maximum messages or bytes exceeded; no space left on device
  10118: 'unavailable', // stream is offline
  10120: 'absent', // no JetStream default or applicable tiered limit present
  10122: 'full', // stream max bytes exceeds account limit max stream bytes
  10163: 'unavailable', // expected last sequence per subject temporarily unavailable
  10164: 'changed', // wrong last sequence
  10167: 'unavailable', // too many requests
  10194: 'unavailable', // stream is offline: {err}
};

interface ApiError {
  readonly err_code?: number;
  readonly description?: string;
}

const apiErrorOf = (error: unknown): ApiError | undefined =>
  (error as { api_error?: ApiError } | null)?.api_error ?? undefined;

export const codeOf = (error: unknown): string => (error instanceof NatsError ? error.code : '');

/** JetStream's own error code; undefined for an error that does not come from JetStream. */
export const errorCodeOf = (error: unknown): number | undefined => apiErrorOf(error)?.err_code;

const categoryOf = (error: unknown): ErrorCategory | undefined =>
  CATEGORY_BY_CODE[errorCodeOf(error) ?? 0];

/** True if trying again at once cannot help: an operator must fix it. */
export const isAuthError = (error: unknown): boolean => AUTH.includes(codeOf(error));

/** Node's codes for an untrusted certificate, and the client's for a server without TLS. */
const TLS_PREFIXES = [
  'UNABLE_TO_',
  'SELF_SIGNED_',
  'DEPTH_ZERO_',
  'CERT_',
  'ERR_TLS_',
  'ERR_SSL_',
  'INVALID_CA',
  'HOSTNAME_MISMATCH',
];

function isTlsError(error: unknown): boolean {
  const code = String((error as { code?: unknown } | null)?.code ?? '');
  return code === 'TLS' || TLS_PREFIXES.some((prefix) => code.startsWith(prefix));
}

/** Texts for the client's and Node's codes of a failed connection attempt. */
const REASONS: Readonly<Record<string, string>> = {
  [ErrorCode.ConnectionRefused]: 'connection refused',
  [ErrorCode.ConnectionTimeout]: 'no answer in time',
  [ErrorCode.Timeout]: 'no answer in time',
  [ErrorCode.ConnectionClosed]: 'the server closed the connection',
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the server closed the connection',
  EHOSTUNREACH: 'no route to this host',
  ENETUNREACH: 'no route to this network',
  ENOTFOUND: 'no such host name',
  EAI_AGAIN: 'the host name cannot be resolved at present',
  ETIMEDOUT: 'no answer in time',
};

/** The deepest cause with a code: the client wraps Node's errors. */
function reasonOf(error: unknown): string {
  const { code, chainedError, message } = (error ?? {}) as {
    code?: string;
    chainedError?: unknown;
    message?: string;
  };
  if (chainedError) return reasonOf(chainedError);
  return REASONS[code ?? ''] ?? (message || String(code ?? error));
}

export function connectError(servers: readonly string[], error: unknown): GleanerError {
  const known = connectionError('connect', error);
  return known instanceof BrokerDisconnectedError
    ? new BrokerUnreachableError(servers, reasonOf(error), error)
    : known;
}

export function connectionError(operation: string, error: unknown): GleanerError {
  if (error instanceof GleanerError) return error;
  if (isAuthError(error)) return new BrokerAuthError(messageOf(error), error);
  if (isTlsError(error)) return new BrokerTlsError(messageOf(error), error);
  return new BrokerDisconnectedError(`${operation}: ${messageOf(error)}`, error);
}

export function storeError(operation: string, error: unknown, timeoutMillis: number): GleanerError {
  if (error instanceof GleanerError) return error;
  const api = apiErrorOf(error);
  if (api !== undefined) return jetStreamError(operation, api, error);
  if (isAuthError(error)) return new BrokerAuthError(messageOf(error), error);
  const code = codeOf(error);
  // Without a JetStream error it is "no responders": nothing serves the JetStream API.
  if (code === ErrorCode.NoResponders) return new NoJetStreamError(operation, error);
  if (code === ErrorCode.Timeout) return new StoreTimeoutError(operation, timeoutMillis);
  if (code === ErrorCode.MaxPayloadExceeded) return new PayloadLimitError(operation, error);
  if (
    code === ErrorCode.ConnectionClosed ||
    code === ErrorCode.Disconnect ||
    code === ErrorCode.ConnectionDraining
  ) {
    return new BrokerDisconnectedError(operation, error);
  }
  return new StoreError(operation, messageOf(error), error);
}

function jetStreamError(
  operation: string,
  { err_code, description }: ApiError,
  error: unknown,
): GleanerError {
  const code = err_code ?? 'without a code';
  const detail = `${description ?? 'unknown error'} (JetStream error ${code})`;
  switch (categoryOf(error)) {
    case 'absent':
      return new NoJetStreamError(`${operation}: ${detail}`, error);
    case 'full':
      return new StoreFullError(operation, detail, error);
    case 'unavailable':
      return new StoreUnavailableError(operation, detail, error);
    case 'conflict':
      return new StoreConflictError(operation, detail, error);
    case 'too_large':
      return new PayloadLimitError(`${operation}: ${detail}`, error);
    default:
      return new StoreError(operation, detail, error);
  }
}

/** The client's own message for a store whose stream is gone. */
const CLIENT_MISSING = /^(stream not found|object store not found|no stream matches subject)$/;

/** True if the stream behind a store is gone: opening the store creates it again. */
export function isMissingStore(error: unknown): boolean {
  if (errorCodeOf(error) !== undefined) return categoryOf(error) === 'missing_store';
  // A message to a stream that is gone has no responders.
  return codeOf(error) === ErrorCode.NoResponders || CLIENT_MISSING.test(messageOf(error));
}

/** True if there is no such message. Direct reads answer with the status only. */
export const isMissingMessage = (error: unknown): boolean =>
  errorCodeOf(error) === undefined
    ? codeOf(error) === ErrorCode.JetStream404NoMessages
    : categoryOf(error) === 'missing_message';

export const isChanged = (error: unknown): boolean => categoryOf(error) === 'changed';
