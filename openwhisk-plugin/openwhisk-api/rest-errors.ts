import { GleanerError } from '../../config/index.js';

/**
 * Wrong or missing key, or one without the right: asking again helps nobody, so a run ends here.
 */
export class OpenWhiskAuthError extends GleanerError {
  readonly code = 'GLN_OPENWHISK_AUTH';
  readonly status: number;
  /** `which`: of several keys. */
  constructor(what: string, status: number, which = 'this key') {
    super(`OpenWhisk does not let ${which} ${what} (HTTP ${status})`, {
      hint: 'check its line in openwhisk.keysFile (`wsk property get --auth` shows a key as uuid:key)',
    });
    this.status = status;
  }
}

export class ActionNotFoundError extends GleanerError {
  readonly code = 'GLN_OPENWHISK_NOT_FOUND';
  constructor(what: string) {
    super(`OpenWhisk could not ${what}: there is no such thing there (HTTP 404)`, {
      hint: 'it was deleted or renamed meanwhile, or the path of openwhisk.apiHost is wrong',
    });
  }
}

/**
 * A 4xx of its own account: out of range, a runtime that is no longer supported. Asking again gives
 * the same answer.
 */
export class OpenWhiskRefusedError extends GleanerError {
  readonly code = 'GLN_OPENWHISK_REFUSED';
  readonly detail: string;
  constructor(what: string, status: number, detail: string) {
    super(`OpenWhisk refuses to ${what} (HTTP ${status}): ${detail}`, {
      hint: 'docs/openwhisk-api.md lists the ranges of each version and who sets them',
    });
    this.detail = detail;
  }
}

/**
 * Somebody else wrote the action in the same moment (HTTP 409). Nothing was changed; the next plan
 * sees what they wrote.
 */
export class ActionConflictError extends GleanerError {
  readonly code = 'GLN_OPENWHISK_CONFLICT';
  constructor(what: string) {
    super(`somebody else changed the action while Gleaner would ${what}`, {
      hint: 'plan again: what they wrote counts',
    });
  }
}

/**
 * HTTP 429, 5xx, no answer in time, no connection: may pass. `uncertain`: the request may have been
 * carried out all the same. `unreachable`: there was no connection at all.
 */
export class OpenWhiskUnavailableError extends GleanerError {
  readonly code = 'GLN_OPENWHISK_AWAY';
  readonly uncertain: boolean;
  readonly unreachable: boolean;
  constructor(what: string, why: string, uncertain: boolean, unreachable = false) {
    super(`OpenWhisk could not ${what}: ${why}`, {
      hint: 'is the API reachable from this host (openwhisk.apiHost, openwhisk.caFile, proxies)? A change of which nothing is known is in the journal',
    });
    this.uncertain = uncertain;
    this.unreachable = unreachable;
  }
}

export class OpenWhiskResponseError extends GleanerError {
  readonly code = 'GLN_OPENWHISK_ANSWER';
  constructor(what: string, problem: string) {
    super(`the answer to "${what}" is not OpenWhisk's: ${problem}`, {
      hint: 'does openwhisk.apiHost name an OpenWhisk API, not a page in front of it?',
    });
  }
}

export class KeysFileError extends GleanerError {
  readonly code = 'GLN_OPENWHISK_KEYS';
  constructor(path: string, problem: string) {
    super(`the keys of OpenWhisk in ${path} cannot be used: ${problem}`, {
      hint: 'one key (uuid:key) per line, in a file that its owner alone may read (chmod 600)',
    });
  }
}
