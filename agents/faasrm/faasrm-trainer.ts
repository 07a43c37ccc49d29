import {
  type Broker,
  type BrokerMessage,
  buckets,
  Inbox,
  Lease,
  type Logger,
  objectStores,
  subjects,
  wildcards,
} from '../../broker/index.js';
import {
  decodeExperiences,
  type ExperienceBatch,
  encodeMessage,
  policyKey,
} from '../../broker/messages/index.js';
import { type Clock, type Millis, messageOf, type Timers } from '../../config/index.js';
import type { NewerObjects } from '../newer-objects.js';
import { PolicyStore } from '../nn/index.js';
import { EntropyWatch, type LearnerState, type PpoMetrics, type Trainer } from '../ppo/index.js';
import {
  expectedFaasrm,
  faasrmCheckpoint,
  faasrmParameters,
  faasrmState,
  faasrmWeights,
  shippedFaasrm,
} from './checkpoint.js';
import { FaasrmLearner } from './learner.js';
import type { FaasrmSettings } from './settings.js';

/** Name of the lease, of the checkpoint, and of the policy. */
const NAME = 'faasrm';
const LEASE = 6000 as Millis;

export interface FaasrmTrainerRun {
  readonly broker: Broker;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly host: string;
  readonly boot: string;
  readonly trainer: Trainer;
  readonly settings: FaasrmSettings;
  readonly seed: number;
  /** False: hooks get the weights there are, and take the highest score. */
  readonly learns: boolean;
  readonly logger: Logger;
  readonly newer?: NewerObjects;
}

export interface RunningFaasrmTrainer {
  /** This host publishes the weights. */
  readonly owner: boolean;
  readonly version: number;
  readonly experiences: number;
  readonly refused: number;
  stop(): Promise<void>;
}

/**
 * The agent host with the lease learns from the hooks' experiences and sends them weights, first
 * the newest checkpoint's or the shipped ones. Without NATS hooks keep theirs.
 */
export function runFaasrmTrainer(run: FaasrmTrainerRun): RunningFaasrmTrainer {
  return new FaasrmTrainer(run);
}

class FaasrmTrainer implements RunningFaasrmTrainer {
  readonly #run: FaasrmTrainerRun;
  readonly #store: PolicyStore;
  readonly #watch: EntropyWatch;
  readonly #inbox: Inbox<ExperienceBatch>;
  readonly #lease: Lease;
  readonly #endings: readonly (() => void)[];
  /** Null: another host is the owner. */
  #learner: FaasrmLearner | null = null;
  #stopped = false;

  constructor(run: FaasrmTrainerRun) {
    const { broker, clock, timers, host, boot, settings, logger } = run;
    this.#run = run;
    this.#store = new PolicyStore(broker.objects(objectStores.policies), run.newer);
    this.#watch = new EntropyWatch(settings.options);
    this.#inbox = new Inbox<ExperienceBatch>({
      decode: decodeExperiences,
      stamp: (batch) => ({ sender: batch.host, boot: batch.boot, sequence: batch.sequence }),
      refused: (kind, detail) => logger.warn({ kind, detail }, 'experiences refused'),
      senders: 10_000,
    });
    this.#lease = new Lease({
      bucket: broker.keyValue(buckets.leases),
      key: NAME,
      host,
      boot,
      duration: LEASE,
      clock,
      timers,
      changed: (epoch) => this.#leaseChanged(epoch),
    });
    const subscription = broker.subscribe(wildcards.experiences, (message) => this.#take(message));
    const cancelStatus = broker.onStatus((status) => {
      if (status.kind === 'connected') void this.#lease.turn();
    });
    this.#endings = [cancelStatus, () => subscription.unsubscribe()];
    void this.#lease.turn();
  }

  get owner(): boolean {
    return this.#learner !== null;
  }

  get version(): number {
    return this.#learner?.version ?? 0;
  }

  get experiences(): number {
    return this.#learner?.experiences ?? 0;
  }

  get refused(): number {
    return this.#learner?.refused ?? 0;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#learner = null;
    for (const end of this.#endings) end();
    await this.#lease.release();
  }

  #leaseChanged(epoch: number | null): void {
    this.#learner = null;
    if (epoch === null) return;
    this.#own().catch((error: unknown) =>
      this.#run.logger.error({ error: messageOf(error) }, 'faasrm has no weights to give'),
    );
  }

  /** Begins to learn from the newest checkpoint, and gives its weights. */
  async #own(): Promise<void> {
    const { settings, seed, trainer, learns, logger } = this.#run;
    const state = await this.#newest();
    if (this.#stopped || this.#lease.epoch === null) return;
    const learner = new FaasrmLearner({ settings, seed, trainer, state });
    this.#learner = learner;
    this.#publish(learner.state);
    logger.info({ version: learner.version, learns }, 'gives hooks the weights of faasrm');
  }

  async #newest(): Promise<LearnerState | null> {
    try {
      const kept = await this.#store.load(NAME, expectedFaasrm);
      if (kept !== null) return faasrmState(NAME, kept);
    } catch (error) {
      this.#run.logger.warn(
        { error: messageOf(error) },
        'cannot use the stored checkpoint of faasrm: the shipped weights are used',
      );
    }
    return shippedFaasrm('cluster');
  }

  #publish(state: LearnerState): void {
    const { broker, host, learns, logger } = this.#run;
    const { updates } = state.counters;
    const message = {
      v: 1,
      policy: NAME,
      function: null,
      parameters: faasrmParameters(updates, learns),
      weights: faasrmWeights(state),
      source: `${host} update ${updates}`,
    };
    broker
      .keyValue(buckets.policy)
      .put(policyKey(NAME, null), encodeMessage(message))
      .catch((error: unknown) => {
        logger.warn(
          { error: messageOf(error) },
          'weights of faasrm not published: hooks go on with those they have',
        );
      });
  }

  #take({ data, subject }: BrokerMessage): void {
    const batch = this.#inbox.take(data, this.#run.clock.monotonic());
    const learner = this.#learner;
    if (batch === null || learner === null || !this.#run.learns || this.#lease.epoch === null)
      return;
    // A hook speaks for its own host alone; NATS holds it to the subject.
    if (subject !== subjects.experiences(batch.host)) return;
    for (const experience of batch.experiences) learner.take(experience);
    if (!learner.ready) return;
    learner.update((metrics) => {
      if (metrics !== null) this.#learned(learner, metrics);
    });
  }

  #learned(from: FaasrmLearner, { meanReward: reward, entropy }: PpoMetrics): void {
    const { settings, seed, logger } = this.#run;
    // Another owner may have begun meanwhile.
    if (this.#learner !== from || this.#lease.epoch === null) return;
    this.#publish(from.state);
    this.#store
      .save(NAME, faasrmCheckpoint(from.state, settings, seed))
      .catch((error: unknown) =>
        logger.warn({ error: messageOf(error) }, 'the checkpoint of faasrm is not kept'),
      );
    const verdict = this.#watch.record(entropy);
    logger.info(
      { version: from.version, reward, entropy, verdict, refused: from.refused },
      'faasrm has learned',
    );
    if (verdict === 'collapsed')
      logger.warn(
        { entropy },
        'faasrm takes one option whatever it sees: a floor such as smallest-in-range does the same',
      );
  }
}
