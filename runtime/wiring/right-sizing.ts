import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Broker, hostNameFrom, type Logger, newBootId, subjects } from '../../broker/index.js';
import { encodeMessage } from '../../broker/messages/index.js';
import { type Config, type Millis, systemClock, systemTimers } from '../../config/index.js';
import {
  type ActionEvent,
  type ActionWriter,
  Journal,
  RightSizing,
  RightSizingLoop,
  type SizingRules,
} from '../../openwhisk-plugin/openwhisk-api/index.js';
import { fetchConcurrencyRequests, fetchSizeEvidence } from '../limit-requests.js';
import { statePaths } from '../settings.js';
import { holdsOf } from './holds.js';
import { withJournal } from './journal.js';

/** A size at which an action was OOM-killed is not tried again for 30 days. */
const KILLED_SIZE_HOLD_MILLIS = 30 * 86_400_000;

export function sizingRules({ openwhisk }: Config): SizingRules {
  const { rule, leastActivations, leastHours, canaries, watchS, watchActivations, payBackHours } =
    openwhisk.rightSizing;
  return {
    rule,
    leastActivations,
    leastSeen: leastHours * 3_600_000,
    canaries,
    watchTime: watchS * 1000,
    watchActivations,
    payBack: payBackHours === null ? null : payBackHours * 3_600_000,
    killedSizeHoldTime: KILLED_SIZE_HOLD_MILLIS,
    holdTime: openwhisk.holdS * 1000,
  };
}

/**
 * `onEvent` gets every change, which is also an event on NATS (`broker` null: no events). `signal`:
 * ends what waits.
 */
export function rightSizingOf(
  config: Config,
  writer: ActionWriter,
  broker: Broker | null,
  onEvent: (event: ActionEvent) => void = () => {},
  signal?: AbortSignal,
): RightSizing {
  const sender = { host: hostNameFrom(hostname()), boot: newBootId() };
  let sequence = 0;
  return new RightSizing({
    writer,
    rules: sizingRules(config),
    clock: systemClock,
    withJournal: (act) => withJournal(statePaths(config).actions, signal, act),
    pause: async (span) => void (await sleep(span, undefined, { signal })),
    tell: (event) => {
      onEvent(event);
      const message = { v: 1, ...event, ...sender, sequence: ++sequence, at: systemClock.wall() };
      broker?.publish(subjects.event('action', event.function), encodeMessage(message));
    },
  });
}

/** Evaluates the sizes of actions from now on. `stopping`: aborted by `stop`. */
export function followSizes(parts: {
  readonly config: Config;
  readonly writer: ActionWriter;
  readonly broker: Broker;
  readonly logger: Logger;
  readonly stopping?: AbortController;
}): RightSizingLoop {
  const { config, writer, broker, logger, stopping = new AbortController() } = parts;
  const { signal } = stopping;
  const { killSwitch, actions } = statePaths(config);
  return new RightSizingLoop({
    sizing: rightSizingOf(
      config,
      writer,
      broker,
      ({ function: fn, reason }) => logger.info({ function: fn }, reason),
      signal,
    ),
    writer,
    findHolds: holdsOf({ broker, killSwitch, signal }),
    broker,
    logger,
    timers: systemTimers,
    interval: (config.openwhisk.rightSizing.everyS * 1000) as Millis,
    stopping,
    readJournal: () => Journal.read(actions),
    fetchEvidence: () => fetchSizeEvidence(broker),
    fetchConcurrency: (inForce) => fetchConcurrencyRequests(broker, inForce),
  });
}

/** How long stopping may take: a change that is being made ends first. */
export const FOLLOW_STOP = 30_000 as Millis;
