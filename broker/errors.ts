import { GleanerError } from '../config/index.js';

export class BrokerDisconnectedError extends GleanerError {
  readonly code = 'GLN_BROKER_DISCONNECTED';
  constructor(operation: string, cause?: unknown) {
    super(`no connection to NATS: ${operation}`, {
      hint: 'start nats-server, or correct nats.servers; parts that run connect again by themselves',
      cause,
    });
  }
}

/** No server answers at any of the addresses. */
export class BrokerUnreachableError extends GleanerError {
  readonly code = 'GLN_BROKER_UNREACHABLE';
  /** Of the last attempt. */
  readonly reason: string;
  constructor(servers: readonly string[], reason: string, cause?: unknown) {
    super(`cannot reach ${servers.map(withoutSecrets).join(', ')}: ${reason}`, {
      hint: 'start nats-server there, or correct nats.servers; parts that run connect by themselves once it answers',
      cause,
    });
    this.reason = reason;
  }
}

/** A server's address may hold a user and a password. */
export const withoutSecrets = (server: string): string => server.replace(/\/\/[^/@]*@/, '//');

export class BrokerClosedError extends GleanerError {
  readonly code = 'GLN_BROKER_CLOSED';
  constructor(operation: string) {
    super(`the broker is closed: ${operation}`, {
      hint: 'this process is stopping; start it again',
    });
  }
}

export class NoRespondersError extends GleanerError {
  readonly code = 'GLN_BROKER_NO_RESPONDERS';
  constructor(subject: string) {
    super(`no service answers on ${subject}`, {
      hint: 'start the part that serves it, or see `gleaner status`',
    });
  }
}

export class RequestTimeoutError extends GleanerError {
  readonly code = 'GLN_BROKER_TIMEOUT';
  constructor(operation: string, timeoutMillis: number) {
    super(`no answer within ${timeoutMillis} ms: ${operation}`, {
      hint: 'the part that serves it is busy or gone; see `gleaner status`',
    });
  }
}

export class NoJetStreamError extends GleanerError {
  readonly code = 'GLN_BROKER_NO_JETSTREAM';
  constructor(operation: string, cause?: unknown) {
    super(`JetStream is not enabled for this account: ${operation}`, {
      hint: 'start nats-server with -js, and enable JetStream for the account of this user; if its log says that JetStream was disabled, free disk space and restart it',
      cause,
    });
  }
}

/** A limit of nats-server, of the account or of the stream is reached. */
export class StoreFullError extends GleanerError {
  readonly code = 'GLN_BROKER_STORE_FULL';
  constructor(operation: string, detail: string, cause?: unknown) {
    super(`${operation}: the store is full: ${detail}`, {
      hint: 'free disk space, raise max_file_store of nats-server or the limits of the account or stream (`nats stream report`), or delete what fills the store',
      cause,
    });
  }
}

/** JetStream cannot answer at present: no leader, a restart, too many requests. */
export class StoreUnavailableError extends GleanerError {
  readonly code = 'GLN_BROKER_STORE_UNAVAILABLE';
  constructor(operation: string, detail: string, cause?: unknown) {
    super(`${operation}: JetStream cannot answer at present: ${detail}`, {
      hint: 'retry; if it lasts, see the log of nats-server and whether a majority of its cluster runs',
      cause,
    });
  }
}

/** A stream of that name, or with the same subjects, exists for another use. */
export class StoreConflictError extends GleanerError {
  readonly code = 'GLN_BROKER_STORE_CONFLICT';
  constructor(operation: string, detail: string, cause?: unknown) {
    super(`${operation}: another stream is in the way: ${detail}`, {
      hint: 'see `nats stream ls`: rename or delete the stream that was not created by Gleaner, or give Gleaner its own account',
      cause,
    });
  }
}

/** A store answered with an error without a class of its own. */
export class StoreError extends GleanerError {
  readonly code = 'GLN_BROKER_STORE';
  constructor(operation: string, detail: string, cause?: unknown) {
    super(`${operation}: ${detail}`, {
      hint: 'see the disk space and the log of nats-server',
      cause,
    });
  }
}

/** A message is larger than the server or the stream takes. */
export class PayloadLimitError extends GleanerError {
  readonly code = 'GLN_BROKER_PAYLOAD_LIMIT';
  constructor(operation: string, cause?: unknown) {
    super(`${operation}: the message is too large`, {
      hint: 'raise max_payload of nats-server, or max_msg_size of the stream',
      cause,
    });
  }
}

export class MessageTooLargeError extends GleanerError {
  readonly code = 'GLN_BROKER_TOO_LARGE';
  constructor(what: string, size: number, limit: number) {
    super(`${what} has ${size} bytes, the server takes ${limit}`, {
      hint: 'use the object store for what is large, or raise max_payload of nats-server',
    });
  }
}

export class SubjectError extends GleanerError {
  readonly code = 'GLN_BROKER_SUBJECT';
  constructor(subject: string) {
    super(`'${subject.slice(0, 80)}' is not a subject`, {
      hint: 'build subjects with broker/subjects.ts',
    });
  }
}

export class KeyError extends GleanerError {
  readonly code = 'GLN_BROKER_KEY';
  constructor(key: string) {
    super(`'${key.slice(0, 80)}' is not a key`, {
      hint: 'keys of functions are their tokens (broker/function-token.ts)',
    });
  }
}

export class BrokerAuthError extends GleanerError {
  readonly code = 'GLN_BROKER_AUTH';
  constructor(detail: string, cause?: unknown) {
    super(`NATS refuses this client: ${detail}`, {
      hint: 'check the credentials in nats.* of the configuration, and the permissions of that user (docs: NATS permissions)',
      cause,
    });
  }
}

export class BrokerTlsError extends GleanerError {
  readonly code = 'GLN_BROKER_TLS';
  constructor(detail: string, cause?: unknown) {
    super(`NATS and this client do not agree on TLS: ${detail}`, {
      hint: 'nats.caFile must hold the authority that signed the server’s certificate, and its name must be the one in nats.servers',
      cause,
    });
  }
}

export class CredentialsError extends GleanerError {
  readonly code = 'GLN_BROKER_CREDENTIALS';
  constructor(path: string, detail: string) {
    super(`${path}: ${detail}`, {
      hint: 'a .creds file or an nkey seed, as `nsc` or `nk -gen user` write them',
    });
  }
}

/** A service answered with an error of its own (`Nats-Service-Error`). */
export class ServiceError extends GleanerError {
  readonly code = 'GLN_SERVICE';
  readonly status: number;
  constructor(status: number, message: string, hint = 'see the message of the service') {
    super(message, { hint });
    this.status = status;
  }
}

/** The embedded nats-server does not start. */
export class LaunchError extends GleanerError {
  readonly code = 'GLN_BROKER_LAUNCH';
}

export class ModeConflictError extends GleanerError {
  readonly code = 'GLN_MODE_CONFLICT';
  constructor(key: string) {
    super(`${key} in gleaner_mode was changed by another client`, { hint: 'retry' });
  }
}
