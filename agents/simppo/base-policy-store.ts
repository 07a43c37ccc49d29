import { createHash } from 'node:crypto';
import { silentLogger, warnOnce } from '../../broker/index.js';
import { messageOf } from '../../config/index.js';
import {
  type Checkpoint,
  CheckpointDamagedError,
  CheckpointForeignError,
  type PolicyStore,
} from '../nn/index.js';
import { type LearnerState, ppoState } from '../ppo/index.js';
import { expectedPolicy, policyCheckpoint } from './base-policy.js';
import type { OwnPolicyStoreOptions } from './own-policy-store.js';

/** Stores the base policy's weights. Decisions never wait for it: missing weights are relearned. */
export interface BasePolicyStore {
  save(state: LearnerState): void;
  /** `done` is called once, later; null: there are none, or none that can be read. */
  load(done: (state: LearnerState | null) => void): void;
}

export interface BrokerBasePolicyStoreOptions extends OwnPolicyStoreOptions {
  /** What comes with the product, and what is learned live began with; null: nothing. */
  readonly shipped: LearnerState | null;
}

/**
 * One object per manager for all agent hosts, without an owner: the base policy with the most
 * updates is stored, and all hosts start from it. Weights that began with another release's policy
 * are overwritten.
 */
export class BrokerBasePolicyStore implements BasePolicyStore {
  readonly #store: PolicyStore;
  readonly #options: BrokerBasePolicyStoreOptions;
  readonly #name: string;
  readonly #began: string;
  readonly #failed: (fields: object, message: string) => void;
  /** Waits for a write that is under way; only the newest is worth it. */
  #next: LearnerState | null = null;
  #writing = false;

  constructor(store: PolicyStore, options: BrokerBasePolicyStoreOptions) {
    this.#store = store;
    this.#options = options;
    this.#name = `base-${options.manager}`;
    this.#began = digestOf(options.shipped);
    this.#failed = warnOnce(options.logger ?? silentLogger);
  }

  save(state: LearnerState): void {
    this.#next = state;
    if (!this.#writing) void this.#write();
  }

  load(done: (state: LearnerState | null) => void): void {
    this.#read().then(done, (error: unknown) => {
      this.#failed(
        { object: this.#name, error: messageOf(error) },
        'the base policy cannot be read',
      );
      done(null);
    });
  }

  async #write(): Promise<void> {
    const { settings, seed } = this.#options;
    this.#writing = true;
    for (let state = this.#take(); state !== null; state = this.#take()) {
      try {
        const kept = await this.#readable();
        if (kept !== null && kept.counters.updates >= state.counters.updates) continue;
        const { configuration, ...checkpoint } = policyCheckpoint(state, settings, seed);
        await this.#store.save(this.#name, {
          ...checkpoint,
          configuration: { ...configuration, began: this.#began },
        });
      } catch (error) {
        this.#failed(
          { object: this.#name, error: messageOf(error) },
          'cannot store the base policy',
        );
      }
    }
    this.#writing = false;
  }

  #take(): LearnerState | null {
    const state = this.#next;
    this.#next = null;
    return state;
  }

  /** Null also if the stored object is damaged or foreign. */
  async #readable(): Promise<LearnerState | null> {
    try {
      return await this.#read();
    } catch (error) {
      if (error instanceof CheckpointDamagedError || error instanceof CheckpointForeignError)
        return null;
      throw error;
    }
  }

  async #read(): Promise<LearnerState | null> {
    const checkpoint: Checkpoint | null = await this.#store.load(
      this.#name,
      expectedPolicy(this.#options.settings),
    );
    if (checkpoint === null || checkpoint.configuration.began !== this.#began) return null;
    return ppoState(this.#name, checkpoint);
  }
}

function digestOf(state: LearnerState | null): string {
  if (state === null) return 'nothing';
  return createHash('sha256').update(state.actor).update(state.critic).digest('hex').slice(0, 16);
}
