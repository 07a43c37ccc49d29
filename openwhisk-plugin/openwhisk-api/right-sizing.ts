import type { EventKind } from '../../broker/index.js';
import type { GleanerEvent } from '../../broker/messages/index.js';
import type { HostUserMemory, SizeAdvice } from '../../broker/services/index.js';
import { type Bytes, type Clock, MIB, type Millis } from '../../config/index.js';
import type { PeakExcess } from '../../rules/index.js';
import {
  type ActionOutcome,
  type ActionWriter,
  type FindHolds,
  heldOutcome,
} from './action-writer.js';
import type { Journal } from './journal.js';
import type { JournalEntry } from './journal-entry.js';
import { keptSinceKill, killedSizes, type OpenChange, openChanges } from './open-changes.js';
import { isChange, type LimitRequest, rangeLimitText } from './plan.js';
import type { ListedAction } from './ranges.js';
import {
  isDue,
  nextWave,
  recommendSizes,
  type SizeRecommendation,
  type SizingInputs,
  type SizingRules,
} from './rollout.js';

/** An event before it has a host and a sequence. */
export type ActionEvent = Pick<
  GleanerEvent,
  'function' | 'resource' | 'before' | 'after' | 'reason'
> & {
  readonly kind: Extract<EventKind, 'action'>;
};

export interface RightSizingParts {
  readonly writer: ActionWriter;
  readonly rules: SizingRules;
  readonly clock: Clock;
  /** Opens the journal only while `act` runs, so that a person's `gleaner actions` can use it. */
  withJournal<T>(act: (journal: Journal) => Promise<T>): Promise<T>;
  /** Rejects when this process stops. */
  pause(span: Millis): Promise<void>;
  tell(event: ActionEvent): void;
}

export interface SizeEvidence {
  readonly advice: readonly SizeAdvice[];
  readonly hosts: readonly HostUserMemory[];
  readonly peaks: PeakExcess;
}

/** A recommendation, and what of it could be written. */
export interface JudgedSize extends SizeRecommendation {
  /** What is in the way besides the verdict: mode, bounds, a range; empty: nothing. */
  readonly heldBy: string;
  /** The bound that keeps it from the size that its activations need; empty: none. */
  readonly rangeLimit: string;
}

/**
 * Sizes of actions from their usage: recommended with evidence, written a few at a time if operator
 * and owner allow it, watched, and undone at the first OOM kill. All its state is in the journal.
 * Concurrency limits that tuners try are written in the same way (`tune`).
 */
export class RightSizing {
  readonly #parts: RightSizingParts;
  /** One thing at a time; undoing does not wait for the pace of changes. */
  #queue: Promise<unknown> = Promise.resolve();

  constructor(parts: RightSizingParts) {
    this.#parts = parts;
  }

  /** What would be written, those that free most first. Nothing is changed. */
  async recommend(evidence: SizeEvidence, entries: readonly JournalEntry[]): Promise<JudgedSize[]> {
    const listed = new Map((await this.#parts.writer.list()).map((one) => [one.function, one]));
    return this.#judge(this.#inputs(evidence, entries), listed);
  }

  /** Undoes killed sizes, ends watches, writes the next few that nothing holds. */
  async turn(evidence: SizeEvidence, findHolds: FindHolds): Promise<ActionOutcome[]> {
    const { writer } = this.#parts;
    const listed = new Map((await writer.list()).map((one) => [one.function, one]));
    const { ready, wave, waveOf, outcomes } = await this.#alone(async (journal) => {
      const inputs = this.#inputs(evidence, journal.entries);
      const keptBefore = keptSinceKill(journal.entries);
      const waveOf = (some: readonly SizeRecommendation[]) => nextWave(some, inputs, keptBefore);
      const ready = this.#judge(inputs, listed).filter(({ heldBy }) => heldBy === '');
      const wave = waveOf(ready);
      for (const fn of wave.kept) {
        journal.append({ v: 1, kind: 'kept', function: fn, at: inputs.now });
        const kept = { function: fn, from: {}, to: {} };
        this.#tell(kept, 'memory', 'kept: watched, and no activation was killed');
      }
      const outcomes: ActionOutcome[] = [];
      for (const { change, size } of wave.killed)
        outcomes.push(await this.#undo(change, size, journal));
      return { ready, wave, waveOf, outcomes };
    });
    // Nothing would be written, so the hooks get no request.
    if (wave.requests.length === 0) return outcomes;
    const due = ready.filter(isDue);
    const held = await this.#held(due, findHolds, outcomes);
    // Held functions take no places of the wave from others.
    for (const request of waveOf(due.filter((one) => !held.has(one.function))).requests) {
      await this.#waitForRateLimit();
      outcomes.push(...(await this.#alone((journal) => this.#apply(request, journal, findHolds))));
    }
    return outcomes;
  }

  /** Writes limits that the concurrency tuners try; the tuner decides how long each is held. */
  async tune(requests: readonly LimitRequest[], findHolds: FindHolds): Promise<ActionOutcome[]> {
    const outcomes: ActionOutcome[] = [];
    const held = await this.#held(requests, findHolds, outcomes);
    // What does harm first: the others wait for their turn between two changes.
    for (const request of requests
      .filter((one) => !held.has(one.function))
      .sort((a, b) => Number(b.urgent === true) - Number(a.urgent === true))) {
      if (request.urgent !== true) await this.#waitForRateLimit();
      const done = await this.#alone((journal) =>
        this.#parts.writer.apply([request], journal.entries, journal, findHolds),
      );
      const verb = request.urgent ? 'rolled back' : 'tuned';
      for (const outcome of done) {
        if (outcome.result === 'changed') this.#tell(outcome, 'concurrency', verb);
        else if (outcome.result === 'failed')
          this.#tell(outcome, 'concurrency', `not tuned: ${outcome.note}`);
      }
      outcomes.push(...done);
    }
    return outcomes;
  }

  /** An OOM kill was reported. Null: not under a size that Gleaner set. */
  async killed(fn: string, limit: Bytes): Promise<ActionOutcome | null> {
    return await this.#alone(async (journal) => {
      const change = openChanges(journal.entries).get(fn);
      const memory = change?.limits.get('memory');
      if (change === undefined || memory?.why !== 'right-size') return null;
      const size = Math.round(limit / MIB);
      if (!memory.setByGleaner.has(size) || size >= (memory.original ?? 0)) return null;
      return await this.#undo(change, size, journal);
    });
  }

  /** Those of `some` that are held; each becomes an outcome. */
  async #held(
    some: readonly { readonly function: string }[],
    findHolds: FindHolds,
    outcomes: ActionOutcome[],
  ): Promise<ReadonlyMap<string, string>> {
    const held = await findHolds(some.map((one) => one.function));
    for (const [fn, why] of held) outcomes.push(heldOutcome(fn, why));
    return held;
  }

  /** Outside of the queue: an undo must not wait for it. */
  async #waitForRateLimit(): Promise<void> {
    const wait = this.#parts.writer.nextChangeIn;
    if (wait > 0) await this.#parts.pause(wait);
  }

  #inputs(evidence: SizeEvidence, entries: readonly JournalEntry[]): SizingInputs {
    const { rules, clock } = this.#parts;
    const now = clock.wall() / 1000;
    return { ...evidence, open: openChanges(entries), killed: killedSizes(entries), rules, now };
  }

  #judge(inputs: SizingInputs, listed: ReadonlyMap<string, ListedAction>): JudgedSize[] {
    const edges = new Map<string, string>();
    const writable = (fn: string, size: Bytes): Bytes => {
      const action = listed.get(fn);
      const allowed = action === undefined ? null : this.#parts.writer.allowedMemory(action);
      // A limit outside of the range could not be restored, so it is not changed.
      const now = action?.action.limits.memory ?? 0;
      if (allowed === null || now < allowed.min || now > allowed.max) return size;
      const moved = Math.min(allowed.max * MIB, Math.max(allowed.min * MIB, size));
      if (moved !== size) edges.set(fn, rangeLimitText(allowed, size / MIB));
      return moved as Bytes;
    };
    return recommendSizes({ ...inputs, writable }).map((one) => {
      const rangeLimit = edges.get(one.function) ?? '';
      return {
        ...one,
        heldBy: this.#heldBy(one, listed, inputs) || (one.to === one.from ? rangeLimit : ''),
        rangeLimit,
      };
    });
  }

  #heldBy(
    { function: fn, from, to }: SizeRecommendation,
    listed: ReadonlyMap<string, ListedAction>,
    { open }: SizingInputs,
  ): string {
    const action = listed.get(fn);
    if (action === undefined) return 'no such action, or no key of its namespace';
    if (action.action.limits.memory * MIB !== from) return 'no activation since its limit changed';
    const planned = this.#parts.writer.plan(
      action,
      { function: fn, memory: to, why: 'right-size' },
      open.get(fn),
    );
    // No change remains if bounds keep the current size; the edge names them.
    if (isChange(planned) || from === to) return '';
    return planned.left.memory ?? 'nothing would change';
  }

  async #apply(
    request: LimitRequest,
    journal: Journal,
    findHolds: FindHolds,
  ): Promise<ActionOutcome[]> {
    const { writer } = this.#parts;
    const outcomes = await writer.apply([request], journal.entries, journal, findHolds);
    for (const outcome of outcomes) {
      const { result, to, note } = outcome;
      if (result === 'changed')
        this.#tell(outcome, 'memory', `right-sized to ${to.memory} MB; watched`);
      else if (result === 'failed') this.#tell(outcome, 'memory', `not right-sized: ${note}`);
    }
    return outcomes;
  }

  async #undo(change: OpenChange, size: number, journal: Journal): Promise<ActionOutcome> {
    const outcome = await this.#parts.writer.undoKilled(change, size, journal);
    const reason =
      outcome.result === 'failed'
        ? `not undone yet: ${outcome.note}`
        : `undone: an activation was killed at ${size} MB`;
    this.#tell(outcome, 'memory', reason);
    return outcome;
  }

  #tell(
    { function: fn, from, to }: Pick<ActionOutcome, 'function' | 'from' | 'to'>,
    resource: 'memory' | 'concurrency',
    reason: string,
  ): void {
    const unit = resource === 'memory' ? MIB : 1;
    const [before, after] = [from[resource], to[resource]];
    this.#parts.tell({
      kind: 'action',
      function: fn,
      resource,
      ...(before === undefined ? {} : { before: before * unit }),
      ...(after === undefined ? {} : { after: after * unit }),
      reason: reason.slice(0, 500),
    });
  }

  #alone<T>(act: (journal: Journal) => Promise<T>): Promise<T> {
    const done = this.#queue.then(() => this.#parts.withJournal(act));
    this.#queue = done.catch(() => undefined);
    return done;
  }
}
