import { errorClass, maskUrlCredentials } from '../config/index.js';

export class BrokerDisconnectedError extends errorClass('GLN_BROKER_DISCONNECTED') {}

export class BrokerUnreachableError extends errorClass('GLN_BROKER_UNREACHABLE') {
  /** Why the last attempt failed. */
  readonly reason: string;
  constructor(servers: readonly string[], reason: string, cause?: unknown) {
    super(serverList(servers), reason, cause);
    this.reason = reason;
  }
}

/** Servers as shown to people: an address may hold a user and a password. */
export const serverList = (servers: readonly string[]): string =>
  servers.map(maskUrlCredentials).join(', ');

export class BrokerClosedError extends errorClass('GLN_BROKER_CLOSED') {}

export class NoRespondersError extends errorClass('GLN_BROKER_NO_RESPONDERS') {}

export class RequestTimeoutError extends errorClass('GLN_BROKER_TIMEOUT') {
  constructor(operation: string, timeoutMillis: number) {
    super(timeoutMillis, operation);
  }
}

export class NoJetStreamError extends errorClass('GLN_BROKER_NO_JETSTREAM') {}

export class StoreFullError extends errorClass('GLN_BROKER_STORE_FULL') {}

/** JetStream cannot answer at present: no leader, a restart, too many requests. */
export class StoreUnavailableError extends errorClass('GLN_BROKER_STORE_UNAVAILABLE') {}

/** JetStream does not answer at all. */
export class StoreTimeoutError extends errorClass('GLN_BROKER_STORE_TIMEOUT') {
  constructor(operation: string, timeoutMillis: number) {
    super(timeoutMillis, operation);
  }
}

export class StoreConflictError extends errorClass('GLN_BROKER_STORE_CONFLICT') {}

export class StoreError extends errorClass('GLN_BROKER_STORE') {}

export class PayloadLimitError extends errorClass('GLN_BROKER_PAYLOAD_LIMIT') {}

export class MessageTooLargeError extends errorClass('GLN_BROKER_TOO_LARGE') {}

export class SubjectError extends errorClass('GLN_BROKER_SUBJECT') {
  constructor(subject: string) {
    super(subject.slice(0, 80));
  }
}

export class KeyError extends errorClass('GLN_BROKER_KEY') {
  constructor(key: string) {
    super(key.slice(0, 80));
  }
}

/** A handler of this process threw. */
export class HandlerError extends errorClass('GLN_BROKER_HANDLER') {}

export class BrokerAuthError extends errorClass('GLN_BROKER_AUTH') {}

export class BrokerTlsError extends errorClass('GLN_BROKER_TLS') {}

export class CredentialsError extends errorClass('GLN_BROKER_CREDENTIALS') {}

/** A service answered with an error of its own (`Nats-Service-Error`). */
export class ServiceError extends errorClass('GLN_SERVICE') {
  readonly status: number;
  constructor(status: number, problem: string, hint = 'see the message of the service') {
    super(problem, hint);
    this.status = status;
  }
}

/** Requests to a host reach several instances, and only one answer arrives. */
export class SharedHostNameError extends errorClass('GLN_HOST_NAME_SHARED') {}

export class ModeConflictError extends errorClass('GLN_MODE_CONFLICT') {}
