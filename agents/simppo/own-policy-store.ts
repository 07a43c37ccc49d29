import {
  functionName,
  functionToken,
  type Logger,
  silentLogger,
  warnOnce,
} from '../../broker/index.js';
import { messageOf } from '../../config/index.js';
import { BESIDE } from '../newer-objects.js';
import type { PolicyStore } from '../nn/index.js';
import { type LearnerState, ppoState } from '../ppo/index.js';
import { expectedPolicy, policyCheckpoint } from './base-policy.js';
import type { SimppoSettings } from './settings.js';

/** Stores functions' own policies. Decisions never wait for it: missing weights are relearned. */
export interface OwnPolicyStore {
  /** False: not accepted; try again with the next update. */
  save(fn: string, state: LearnerState): boolean;
  /** `done` is called once, now or later; null: there is none, or none that can be read. */
  load(fn: string, done: (state: LearnerState | null) => void): void;
}

/** Parallel writes; more are not accepted, as each policy is stored again with its next update. */
const WRITES_MAX = 16;

const POLICY_NAME = new RegExp(`^own-[a-z-]+-(L[\\w-]+)${BESIDE}$`);

/** The function whose weights an object has; null: it has none of a function's own. */
export function functionOfPolicy(name: string): string | null {
  const token = POLICY_NAME.exec(name)?.[1];
  return token === undefined ? null : functionName(token);
}

export interface OwnPolicyStoreOptions {
  readonly manager: string;
  readonly settings: SimppoSettings;
  readonly seed: number;
  readonly logger?: Logger;
}

/** In the broker's object store, an object a function and manager. */
export class BrokerOwnPolicyStore implements OwnPolicyStore {
  readonly #store: PolicyStore;
  readonly #options: OwnPolicyStoreOptions;
  readonly #log: (fields: object, message: string) => void;
  #writing = 0;

  constructor(store: PolicyStore, options: OwnPolicyStoreOptions) {
    this.#store = store;
    this.#options = options;
    this.#log = warnOnce(options.logger ?? silentLogger);
  }

  save(fn: string, state: LearnerState): boolean {
    if (this.#writing >= WRITES_MAX) return false;
    this.#writing++;
    const { settings, seed } = this.#options;
    this.#store.save(this.#name(fn), policyCheckpoint(state, settings, seed)).then(
      () => {
        this.#writing--;
      },
      (error: unknown) => {
        this.#writing--;
        this.#failed(fn, error, 'cannot store a policy');
      },
    );
    return true;
  }

  load(fn: string, done: (state: LearnerState | null) => void): void {
    const name = this.#name(fn);
    this.#store.load(name, expectedPolicy(this.#options.settings)).then(
      (checkpoint) => done(checkpoint && ppoState(name, checkpoint)),
      (error: unknown) => {
        this.#failed(fn, error, 'cannot read a stored policy');
        done(null);
      },
    );
  }

  #name(fn: string): string {
    return `own-${this.#options.manager}-${functionToken(fn)}`;
  }

  #failed(fn: string, error: unknown, what: string): void {
    this.#log({ function: fn, error: messageOf(error).slice(0, 300) }, what);
  }
}
