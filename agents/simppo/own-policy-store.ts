import {
  functionName,
  functionToken,
  type Logger,
  silentLogger,
  warnOnce,
} from '../../broker/index.js';
import { messageOf } from '../../config/index.js';
import type { PolicyStore } from '../nn/index.js';
import type { LearnerState } from '../ppo/index.js';
import { expectedPolicy, policyCheckpoint, policyState } from './base-policy.js';
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

/** The function whose weights an object has; null: it has none of a function's own. */
export function functionOfPolicy(name: string): string | null {
  const token = /^own-[a-z-]+-(L[\w-]+)$/.exec(name)?.[1];
  return token === undefined ? null : functionName(token);
}

/** In the broker's object store, an object a function and manager. */
export class BrokerOwnPolicyStore implements OwnPolicyStore {
  readonly #store: PolicyStore;
  readonly #manager: string;
  readonly #settings: SimppoSettings;
  readonly #seed: number;
  readonly #tell: (fields: object, message: string) => void;
  #writing = 0;
  readonly counts = { kept: 0, found: 0, skipped: 0, failures: 0 };

  constructor(
    store: PolicyStore,
    {
      manager,
      settings,
      seed,
      logger = silentLogger,
    }: {
      readonly manager: string;
      readonly settings: SimppoSettings;
      readonly seed: number;
      readonly logger?: Logger;
    },
  ) {
    this.#store = store;
    this.#manager = manager;
    this.#settings = settings;
    this.#seed = seed;
    this.#tell = warnOnce(logger);
  }

  save(fn: string, state: LearnerState): boolean {
    if (this.#writing >= WRITES_MAX) {
      this.counts.skipped++;
      return false;
    }
    this.#writing++;
    this.#store.save(this.#name(fn), policyCheckpoint(state, this.#settings, this.#seed)).then(
      () => {
        this.#writing--;
        this.counts.kept++;
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
    this.#store.load(name, expectedPolicy(this.#settings)).then(
      (checkpoint) => {
        if (checkpoint !== null) this.counts.found++;
        done(checkpoint && policyState(name, checkpoint));
      },
      (error: unknown) => {
        this.#failed(fn, error, 'cannot read a stored policy');
        done(null);
      },
    );
  }

  #name(fn: string): string {
    return `own-${this.#manager}-${functionToken(fn)}`;
  }

  #failed(fn: string, error: unknown, what: string): void {
    this.counts.failures++;
    this.#tell({ function: fn, error: messageOf(error).slice(0, 300) }, what);
  }
}
