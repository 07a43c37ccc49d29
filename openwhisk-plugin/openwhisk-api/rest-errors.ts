import { errorClass } from '../../config/index.js';

/** A retry cannot help, so the run ends here. */
export class OpenWhiskAuthError extends errorClass('GLN_OPENWHISK_AUTH') {
  readonly status: number;
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

/** Another client wrote the action meanwhile (HTTP 409); nothing was changed. */
export class ActionConflictError extends errorClass('GLN_OPENWHISK_CONFLICT') {}

/** HTTP 429, 5xx or no answer. `uncertain`: the request may have been carried out. */
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
