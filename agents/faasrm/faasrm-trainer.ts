import {
  type Broker,
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
  const { broker, clock, timers, host, boot, trainer, settings, seed, learns, logger } = run;
  const store = new PolicyStore(broker.objects(objectStores.policies));
  const policies = broker.keyValue(buckets.policy);
  let learner: FaasrmLearner | null = null;
  let stopped = false;

  const publish = (state: LearnerState): void => {
    const { updates } = state.counters;
    const message = {
      v: 1,
      policy: NAME,
      function: null,
      parameters: faasrmParameters(updates, learns),
      weights: faasrmWeights(state),
      source: `${host} update ${updates}`,
    };
    policies.put(policyKey(NAME, null), encodeMessage(message)).catch((error: unknown) => {
      logger.warn(
        { error: messageOf(error) },
        'weights of faasrm not published: hooks go on with those they have',
      );
    });
  };

  const newest = async (): Promise<LearnerState | null> => {
    try {
      const kept = await store.load(NAME, expectedFaasrm);
      if (kept !== null) return faasrmState(NAME, kept);
    } catch (error) {
      logger.warn(
        { error: messageOf(error) },
        'cannot use the stored checkpoint of faasrm: the shipped weights are used',
      );
    }
    return shippedFaasrm('cluster');
  };

  const own = async (): Promise<void> => {
    const state = await newest();
    if (stopped || lease.epoch === null) return;
    learner = new FaasrmLearner({ settings, seed, trainer, state });
    publish(learner.state);
    logger.info({ version: learner.version, learns }, 'gives hooks the weights of faasrm');
  };

  const lease = new Lease({
    bucket: broker.keyValue(buckets.leases),
    key: NAME,
    host,
    boot,
    duration: LEASE,
    clock,
    timers,
    changed: (epoch) => {
      learner = null;
      if (epoch === null) return;
      own().catch((error: unknown) =>
        logger.error({ error: messageOf(error) }, 'faasrm has no weights to give'),
      );
    },
  });

  const watch = new EntropyWatch(settings.options);
  const learned = (from: FaasrmLearner, { meanReward: reward, entropy }: PpoMetrics): void => {
    // Another owner may have begun meanwhile.
    if (learner !== from || lease.epoch === null) return;
    publish(from.state);
    store.save(NAME, faasrmCheckpoint(from.state, settings, seed)).catch((error: unknown) => {
      logger.warn({ error: messageOf(error) }, 'the checkpoint of faasrm is not kept');
    });
    const verdict = watch.record(entropy);
    logger.info(
      { version: from.version, reward, entropy, verdict, refused: from.refused },
      'faasrm has learned',
    );
    if (verdict === 'collapsed')
      logger.warn(
        { entropy },
        'faasrm takes one option whatever it sees: a floor such as smallest-in-range does the same',
      );
  };

  const inbox = new Inbox<ExperienceBatch>({
    decode: decodeExperiences,
    stamp: (batch) => ({ sender: batch.host, boot: batch.boot, sequence: batch.sequence }),
    refused: (kind, detail) => logger.warn({ kind, detail }, 'experiences refused'),
    senders: 10_000,
  });
  const subscription = broker.subscribe(wildcards.experiences, (message) => {
    const batch = inbox.take(message.data, clock.monotonic());
    const current = learner;
    if (batch === null || current === null || !learns || lease.epoch === null) return;
    // A hook speaks for its own host alone; NATS holds it to the subject.
    if (message.subject !== subjects.experiences(batch.host)) return;
    for (const experience of batch.experiences) current.take(experience);
    if (!current.ready) return;
    current.update((metrics) => {
      if (metrics !== null) learned(current, metrics);
    });
  });
  const cancelStatus = broker.onStatus((status) => {
    if (status.kind === 'connected') void lease.turn();
  });
  void lease.turn();

  return {
    get owner() {
      return learner !== null;
    },
    get version() {
      return learner?.version ?? 0;
    },
    get experiences() {
      return learner?.experiences ?? 0;
    },
    get refused() {
      return learner?.refused ?? 0;
    },
    async stop() {
      stopped = true;
      learner = null;
      cancelStatus();
      subscription.unsubscribe();
      await lease.release();
    },
  };
}
