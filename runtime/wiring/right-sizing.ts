import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Broker,
  hostNameFrom,
  type Logger,
  newBootId,
  subjects,
  wildcards,
} from '../../broker/index.js';
import { decodeEvent, encodeMessage } from '../../broker/messages/index.js';
import { type Config, type Millis, messageOf, systemClock } from '../../config/index.js';
import {
  type ActionEvent,
  type ActionOutcome,
  type ActionsController,
  Journal,
  type ListedAction,
  RightSizing,
  type SizingRules,
} from '../../openwhisk-plugin/openwhisk-api/index.js';
import { fetchConcurrencyRequests, fetchSizeEvidence } from '../limit-requests.js';
import { statePaths } from '../settings.js';
import { publishActionSettings } from './action-settings.js';
import { holdsFrom } from './holds.js';
import { withJournal } from './journal.js';

/** A size at which an action was OOM-killed is not tried again for 30 days. */
const KILLED_SIZE_HOLD_MILLIS = 30 * 86_400_000;

export function sizingRules({ openwhisk }: Config): SizingRules {
  const { rule, leastCalls, leastHours, canaries, watchS, watchCalls, payBackHours } =
    openwhisk.rightSizing;
  return {
    rule,
    leastCalls,
    leastSeen: leastHours * 3_600_000,
    canaries,
    watchTime: watchS * 1000,
    watchCalls,
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
  controller: ActionsController,
  broker: Broker | null,
  onEvent: (event: ActionEvent) => void = () => {},
  signal?: AbortSignal,
): RightSizing {
  const sender = { host: hostNameFrom(hostname()), boot: newBootId() };
  let sequence = 0;
  return new RightSizing({
    controller,
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

export interface Following {
  /** Evaluates now, in addition to the interval. */
  turn(): Promise<void>;
  /** Begins no further change, and ends once a change that is being written is. */
  stop(): Promise<void>;
}

/**
 * Evaluates the evidence at each interval. A size is undone at once after an OOM kill under it, and
 * a concurrency limit when an agent host reports that it is harmful. `stopping`: aborted by `stop`;
 * the controller's waits end, too, if it has the same signal.
 */
export function followSizes(parts: {
  readonly config: Config;
  readonly controller: ActionsController;
  readonly broker: Broker;
  readonly logger: Logger;
  readonly stopping?: AbortController;
}): Following {
  const { config, controller, broker, logger, stopping = new AbortController() } = parts;
  const { signal } = stopping;
  const sizing = rightSizingOf(
    config,
    controller,
    broker,
    ({ function: fn, reason }) => logger.info({ function: fn }, reason),
    signal,
  );
  const { killSwitch } = statePaths(config);
  const findHolds = holdsFrom({ broker, killSwitch, signal });
  const failed = (what: string) => (error: unknown) => {
    if (!signal.aborted) logger.error({ error: messageOf(error) }, `${what} failed`);
  };
  /** Actions whose annotations cannot be read and were named. */
  const named = new Set<string>();
  let turning: Promise<void> | null = null;
  /** Writes the tuners' limits, one after the other. */
  let tuning: Promise<unknown> = Promise.resolve();
  /** Why each function was held at the last evaluation. */
  const heldBy = new Map<string, string>();
  /** One at a time: an older list must not be published after a newer one. */
  let publishing: Promise<unknown> = Promise.resolve();
  const publish = (): Promise<readonly ListedAction[]> => {
    const published = publishing.then(publishOnce);
    publishing = published.catch(() => undefined);
    return published;
  };
  const publishOnce = async (): Promise<readonly ListedAction[]> => {
    const listed = await controller.list();
    const entries = Journal.read(statePaths(config).actions);
    const { namespaces } = controller;
    const unreadable = await publishActionSettings(broker, namespaces, listed, entries);
    for (const [fn, names] of unreadable) {
      if (named.has(fn)) continue;
      named.add(fn);
      logger.warn(
        { function: fn, annotations: names },
        'annotations cannot be read: user limits stand',
      );
    }
    return listed;
  };
  const warn = (outcomes: readonly ActionOutcome[]): void => {
    const newlyHeld = new Map<string, string[]>();
    for (const { function: fn, result, note } of outcomes) {
      if (result === 'failed') logger.warn({ function: fn }, note);
      if (result !== 'held') heldBy.delete(fn);
      else if (heldBy.get(fn) !== note) {
        heldBy.set(fn, note);
        newlyHeld.set(note, [...(newlyHeld.get(note) ?? []), fn]);
      }
    }
    // A line for each reason: a kill switch holds every function.
    for (const [reason, functions] of newlyHeld)
      logger.warn(
        { event: 'actions_held', functions: functions.length, function: functions[0]!, reason },
        'changes of actions are held back',
      );
  };
  /** Writes the tuners' limits for the listed actions; `only`: for this function. */
  const tune = (listed: readonly ListedAction[], only?: string): Promise<unknown> => {
    const inForce = new Map(
      listed.map(({ function: fn, action }) => [fn, action.limits.concurrency]),
    );
    tuning = tuning
      .then(async () => {
        const requests = await fetchConcurrencyRequests(broker, (fn) => inForce.get(fn));
        const ours = requests.filter(
          (limitRequest) => only === undefined || limitRequest.function === only,
        );
        const tuned = await sizing.tune(ours, findHolds);
        // Publish at once: what is measured from now on belongs to the new limit.
        if (tuned.some(({ result }) => result === 'changed')) await publish();
        warn(tuned);
      })
      .catch(failed('the evaluation of concurrency limits'));
    return tuning;
  };
  const turn = (): Promise<void> => {
    turning ??= (async () => {
      if (signal.aborted) return;
      const listed = await publish();
      warn(await sizing.turn(await fetchSizeEvidence(broker), findHolds));
      await tune(listed);
    })()
      .catch(failed('the evaluation of sizes'))
      .finally(() => {
        turning = null;
      });
    return turning;
  };
  const undoing = new Set<Promise<unknown>>();
  const subscription = broker.subscribe(wildcards.events, ({ data }) => {
    const decoded = decodeEvent(data);
    if (!decoded.ok) return;
    const { kind, function: fn, before } = decoded.message;
    if (fn === null || before === undefined || signal.aborted) return;
    const act = (promise: Promise<unknown>): void => {
      const undo = promise.catch(failed('an undo'));
      undoing.add(undo);
      void undo.finally(() => undoing.delete(undo));
    };
    if (kind === 'oom') act(sizing.killed(fn, before as never));
    // A tuner found a harmful limit: do not wait for the next interval.
    else if (kind === 'concurrency') act(publish().then((listed) => tune(listed, fn)));
  });
  const timer = setInterval(() => void turn(), config.openwhisk.rightSizing.everyS * 1000);
  return {
    turn,
    async stop() {
      stopping.abort();
      clearInterval(timer);
      subscription.unsubscribe();
      await Promise.all([...undoing, turning]);
    },
  };
}

/** How long stopping may take: a change that is being made ends first. */
export const FOLLOW_STOP = 30_000 as Millis;
