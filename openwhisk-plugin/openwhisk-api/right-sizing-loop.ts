import { type Broker, type Logger, wildcards } from '../../broker/index.js';
import { decodeEvent } from '../../broker/messages/index.js';
import { type Bytes, type Millis, messageOf, type Timers } from '../../config/index.js';
import { publishActionSettings } from './action-settings.js';
import type { ActionOutcome, ActionWriter, FindHolds } from './action-writer.js';
import type { JournalEntry } from './journal-entry.js';
import type { LimitRequest } from './plan.js';
import type { ListedAction } from './ranges.js';
import type { RightSizing, SizeEvidence } from './right-sizing.js';

export interface RightSizingLoopParts {
  readonly sizing: RightSizing;
  readonly writer: ActionWriter;
  readonly findHolds: FindHolds;
  readonly broker: Broker;
  readonly logger: Logger;
  readonly timers: Timers;
  /** Time between two evaluations, ms. */
  readonly interval: Millis;
  /** Aborted by `stop`; the writer's waits end, too, if it has the same signal. */
  readonly stopping: AbortController;
  readJournal(): readonly JournalEntry[];
  fetchEvidence(): Promise<SizeEvidence>;
  /** What the tuners ask for; `inForce`: an action's concurrency limit. */
  fetchConcurrency(inForce: (fn: string) => number | undefined): Promise<readonly LimitRequest[]>;
}

/**
 * Evaluates the evidence at each interval. A size is undone at once after an OOM kill under it, and
 * a concurrency limit when an agent host reports that it is harmful.
 */
export class RightSizingLoop {
  readonly #parts: RightSizingLoopParts;
  /** Actions whose annotations cannot be read and were named. */
  readonly #named = new Set<string>();
  /** Why each function was held at the last evaluation. */
  readonly #heldBy = new Map<string, string>();
  readonly #undoing = new Set<Promise<unknown>>();
  #turning: Promise<void> | null = null;
  /** Writes the tuners' limits, one after the other. */
  #tuning: Promise<unknown> = Promise.resolve();
  /** One at a time: an older list must not be published after a newer one. */
  #publishing: Promise<unknown> = Promise.resolve();
  readonly #endings: readonly (() => void)[];

  constructor(parts: RightSizingLoopParts) {
    const { broker, timers, interval } = parts;
    this.#parts = parts;
    const subscription = broker.subscribe(wildcards.events, ({ data }) => this.#receive(data));
    this.#endings = [
      timers.every(interval, () => void this.turn()),
      () => subscription.unsubscribe(),
    ];
  }

  /** Evaluates now, in addition to the interval. */
  turn(): Promise<void> {
    this.#turning ??= this.#turn()
      .catch(this.#failed('the evaluation of sizes'))
      .finally(() => {
        this.#turning = null;
      });
    return this.#turning;
  }

  /** Begins no further change, and ends once a change that is being written is. */
  async stop(): Promise<void> {
    this.#parts.stopping.abort();
    for (const end of this.#endings) end();
    await Promise.all([...this.#undoing, this.#turning]);
  }

  async #turn(): Promise<void> {
    const { sizing, findHolds, fetchEvidence, stopping } = this.#parts;
    if (stopping.signal.aborted) return;
    const listed = await this.#publish();
    this.#warn(await sizing.turn(await fetchEvidence(), findHolds));
    await this.#tune(listed);
  }

  /** An event of any part of Gleaner. */
  #receive(data: Uint8Array): void {
    const decoded = decodeEvent(data);
    if (!decoded.ok) return;
    const { kind, function: fn, before } = decoded.message;
    if (fn === null || before === undefined || this.#parts.stopping.signal.aborted) return;
    if (kind === 'oom') this.#undo(this.#parts.sizing.killed(fn, before as Bytes));
    // A tuner found a harmful limit: do not wait for the next interval.
    else if (kind === 'concurrency')
      this.#undo(this.#publish().then((listed) => this.#tune(listed, fn)));
  }

  #undo(promise: Promise<unknown>): void {
    const undo = promise.catch(this.#failed('an undo'));
    this.#undoing.add(undo);
    void undo.finally(() => this.#undoing.delete(undo));
  }

  /** Writes the tuners' limits for the listed actions; `only`: for this function. */
  #tune(listed: readonly ListedAction[], only?: string): Promise<unknown> {
    const { sizing, findHolds, fetchConcurrency } = this.#parts;
    const inForce = new Map(
      listed.map(({ function: fn, action }) => [fn, action.limits.concurrency]),
    );
    this.#tuning = this.#tuning
      .then(async () => {
        const requests = await fetchConcurrency((fn) => inForce.get(fn));
        const ours = requests.filter(
          (limitRequest) => only === undefined || limitRequest.function === only,
        );
        const tuned = await sizing.tune(ours, findHolds);
        // Publish at once: what is measured from now on belongs to the new limit.
        if (tuned.some(({ result }) => result === 'changed')) await this.#publish();
        this.#warn(tuned);
      })
      .catch(this.#failed('the evaluation of concurrency limits'));
    return this.#tuning;
  }

  #publish(): Promise<readonly ListedAction[]> {
    const published = this.#publishing.then(() => this.#publishOnce());
    this.#publishing = published.catch(() => undefined);
    return published;
  }

  async #publishOnce(): Promise<readonly ListedAction[]> {
    const { broker, writer, logger, readJournal } = this.#parts;
    const listed = await writer.list();
    const { namespaces } = writer;
    const unreadable = await publishActionSettings(broker, namespaces, listed, readJournal());
    for (const [fn, names] of unreadable) {
      if (this.#named.has(fn)) continue;
      this.#named.add(fn);
      logger.warn(
        { function: fn, annotations: names },
        'annotations cannot be read: user limits stand',
      );
    }
    return listed;
  }

  /** Logs what failed, and what is newly held: a line for each reason. */
  #warn(outcomes: readonly ActionOutcome[]): void {
    const { logger } = this.#parts;
    const newlyHeld = new Map<string, string[]>();
    for (const { function: fn, result, note } of outcomes) {
      if (result === 'failed') logger.warn({ function: fn }, note);
      if (result !== 'held') this.#heldBy.delete(fn);
      else if (this.#heldBy.get(fn) !== note) {
        this.#heldBy.set(fn, note);
        newlyHeld.set(note, [...(newlyHeld.get(note) ?? []), fn]);
      }
    }
    // A kill switch holds every function.
    for (const [reason, functions] of newlyHeld)
      logger.warn(
        { event: 'actions_held', functions: functions.length, function: functions[0]!, reason },
        'changes of actions are held back',
      );
  }

  #failed(what: string): (error: unknown) => void {
    return (error) => {
      if (!this.#parts.stopping.signal.aborted)
        this.#parts.logger.error({ error: messageOf(error) }, `${what} failed`);
    };
  }
}
