import { errorClass } from '../../config/index.js';

/**
 * Wrong or missing key, or one without the right: a retry cannot help, so the run ends here.
 */
export class OpenWhiskAuthError extends errorClass('GLN_OPENWHISK_AUTH') {
  readonly status: number;
  /** `which`: of several keys. */
  constructor(operation: string, status: number, which = 'this key') {
    super(which, operation, status);
    this.status = status;
  }
}

export class ActionNotFoundError extends errorClass('GLN_OPENWHISK_NOT_FOUND') {}

/** Another 4xx: a value out of range, an unsupported runtime. A retry gives the same answer. */
export class OpenWhiskRefusedError extends errorClass('GLN_OPENWHISK_REFUSED') {
  readonly detail: string;
  constructor(operation: string, status: number, detail: string) {
    super(operation, status, detail);
    this.detail = detail;
  }
}

/**
 * Another client wrote the action meanwhile (HTTP 409). Nothing was changed; the next plan
 * sees what they wrote.
 */
export class ActionConflictError extends errorClass('GLN_OPENWHISK_CONFLICT') {}

/**
 * HTTP 429, 5xx, no answer in time, no connection: may be temporary. `uncertain`: the request may
 * have been carried out. `unreachable`: there was no connection.
 */
export class OpenWhiskUnavailableError extends errorClass('GLN_OPENWHISK_AWAY') {
  readonly uncertain: boolean;
  readonly unreachable: boolean;
  constructor(operation: string, reason: string, uncertain: boolean, unreachable = false) {
    super(operation, reason);
    this.uncertain = uncertain;
    this.unreachable = unreachable;
  }
}

export class OpenWhiskResponseError extends errorClass('GLN_OPENWHISK_ANSWER') {}

export class KeysFileError extends errorClass('GLN_OPENWHISK_KEYS') {}
