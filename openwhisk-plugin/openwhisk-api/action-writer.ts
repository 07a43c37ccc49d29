import { type Clock, type Millis, messageOf } from '../../config/index.js';
import type { Journal } from './journal.js';
import type { JournalEntry } from './journal-entry.js';
import { type OpenChange, openChanges, originalOf, planUndo } from './open-changes.js';
import {
  type Allowance,
  type AllowedRange,
  allowedMemory,
  isChange,
  type LimitRequest,
  type Planned,
  planChange,
} from './plan.js';
import { type ListedAction, type Ranges, rangesOf } from './ranges.js';
import type { OpenWhiskRest } from './rest.js';
import {
  ActionConflictError,
  ActionNotFoundError,
  OpenWhiskAuthError,
  OpenWhiskRefusedError,
  OpenWhiskResponseError,
  OpenWhiskUnavailableError,
} from './rest-errors.js';
import {
  type LimitValues,
  type RestAction,
  type WritableLimit,
  writableLimits,
} from './rest-schemas.js';
import { RetryPolicy, type RetrySettings } from './retry-policy.js';

export interface ActionWriterSettings extends RetrySettings {
  /** Changes per minute, all namespaces together; undoing does not wait. */
  readonly changesPerMinute: number;
  readonly holdMs: number;
  /** A service waits for an unreachable API at the start; a command fails at once. */
  readonly waitForHost: boolean;
  /** The operator's settings of a function. */
  allowanceOf(fn: string): Allowance;
}

/** A request that was sent before its process ended has reached its end by then. */
const IN_FLIGHT_WAIT = 10_000 as Millis;

interface Namespace {
  readonly rest: OpenWhiskRest;
  readonly ranges: Ranges;
  /** Why it gets no more requests in this run. */
  keyError: Error | null;
}

/**
 * By function why it must not be changed now: kill switch, pause or mode. The others may be. It
 * holds for this moment and is called again before each write.
 */
export type FindHolds = (functions: readonly string[]) => Promise<ReadonlyMap<string, string>>;

export interface ActionOutcome {
  readonly function: string;
  readonly result:
    | 'changed'
    | 'would change'
    | 'unchanged'
    | 'held'
    | 'undone'
    | 'would undo'
    | 'failed';
  readonly planned: Planned | null;
  readonly from: LimitValues;
  readonly to: LimitValues;
  /** Why it failed or is held, or a note for the operator. */
  readonly note: string;
}

/** Nothing was changed. */
export const heldOutcome = (fn: string, why: string): ActionOutcome => ({
  function: fn,
  result: 'held',
  planned: null,
  from: {},
  to: {},
  note: why,
});

/**
 * Writes limits of actions into OpenWhisk and undoes them. Every change is in the journal before it
 * is sent; each action is read right before it is written, and unchanged limits are not sent.
 */
export class ActionWriter {
  readonly #namespaces: ReadonlyMap<string, Namespace>;
  readonly #settings: ActionWriterSettings;
  readonly #clock: Clock;
  readonly #pause: (span: Millis) => Promise<void>;
  readonly #retryPolicy: RetryPolicy;
  #lastChange = Number.NEGATIVE_INFINITY;

  private constructor(
    namespaces: ReadonlyMap<string, Namespace>,
    settings: ActionWriterSettings,
    clock: Clock,
    pause: (span: Millis) => Promise<void>,
  ) {
    this.#namespaces = namespaces;
    this.#settings = settings;
    this.#clock = clock;
    this.#pause = pause;
    this.#retryPolicy = new RetryPolicy(settings, pause);
  }

  /** Rejects if any key cannot be used: half a view would plan half a change. */
  static async connect(
    rests: readonly OpenWhiskRest[],
    settings: ActionWriterSettings,
    clock: Clock,
    pause: (span: Millis) => Promise<void>,
  ): Promise<ActionWriter> {
    const namespaces = new Map<string, Namespace>();
    const writer = new ActionWriter(namespaces, settings, clock, pause);
    for (const [i, rest] of rests.entries()) {
      const name = await writer.#retryPolicy
        .execute(() => rest.namespace(), settings.waitForHost)
        .catch((error: unknown) => {
          if (!(error instanceof OpenWhiskAuthError)) throw error;
          throw new OpenWhiskAuthError(
            'open its namespace',
            error.status,
            `key ${i + 1} of ${rests.length}`,
          );
        });
      const limits = await writer.#retryPolicy.execute(() => rest.namespaceLimits());
      // 1.0.0 has its memory range only at the root, which a gateway may not pass on.
      const platform =
        limits.maxActionMemory === undefined
          ? await writer.#retryPolicy.execute(() => rest.platform()).catch(() => null)
          : null;
      namespaces.set(name, { rest, ranges: rangesOf(limits, platform), keyError: null });
    }
    return writer;
  }

  /** Those that its keys open. */
  get namespaces(): ReadonlySet<string> {
    return new Set(this.#namespaces.keys());
  }

  async list(): Promise<ListedAction[]> {
    const all: ListedAction[] = [];
    for (const { rest, ranges } of this.#namespaces.values())
      for (const action of await this.#retryPolicy.execute(() => rest.actions()))
        all.push({ function: `/${action.namespace}/${action.name}`, action, ranges });
    return all;
  }

  /**
   * `entries`: the journal's so far. `journal` null: a dry run, nothing is written anywhere.
   * `findHolds`: called before each write and retry; if it rejects, nothing more is written.
   * `each`: called with each outcome; if it throws, the rest is not begun.
   */
  async apply(
    requests: readonly LimitRequest[],
    entries: readonly JournalEntry[],
    journal: Journal | null,
    findHolds: FindHolds,
    each: (outcome: ActionOutcome) => void = () => {},
  ): Promise<ActionOutcome[]> {
    const outcomes: ActionOutcome[] = [];
    for (const request of requests) {
      // Read again each time: an earlier request of this run may be about the same action.
      const open = openChanges(entries.filter((entry) => entry.function === request.function)).get(
        request.function,
      );
      const done = await this.#withOutcome(request.function, (namespace, path) =>
        this.#applyOne({ request, namespace, path, journal, open, findHolds }),
      );
      outcomes.push(done);
      each(done);
    }
    return outcomes;
  }

  /** The change of a listed action that a request would become; nothing is sent. */
  plan(
    { action, ranges }: ListedAction,
    request: LimitRequest,
    open: OpenChange | undefined,
  ): Planned {
    const { holdMs } = this.#settings;
    const allowance = this.#settings.allowanceOf(request.function);
    return planChange({ action, request, ranges, allowance, open, now: this.#now(), holdMs });
  }

  /** Memory that an action may be given, MB, as it was listed. */
  allowedMemory({ function: fn, action, ranges }: ListedAction): AllowedRange | null {
    return allowedMemory(action, ranges, this.#settings.allowanceOf(fn));
  }

  /** Until the next change may be made, ms. */
  get nextChangeIn(): Millis {
    const wait =
      this.#lastChange + 60_000 / this.#settings.changesPerMinute - this.#clock.monotonic();
    return Math.max(0, wait) as Millis;
  }

  /** `journal` null: a dry run over `open`. */
  async undo(
    open: ReadonlyMap<string, OpenChange>,
    journal: Journal | null,
    each: (outcome: ActionOutcome) => void = () => {},
  ): Promise<ActionOutcome[]> {
    const outcomes: ActionOutcome[] = [];
    for (const change of open.values()) {
      const done = await this.#undoWithOutcome(change, journal, null);
      outcomes.push(done);
      each(done);
    }
    return outcomes;
  }

  /** Restores the memory after an OOM kill under a size of Gleaner's, MB, and records that size. */
  async undoKilled(change: OpenChange, size: number, journal: Journal): Promise<ActionOutcome> {
    const memory = change.limits.get('memory');
    const limits = new Map(memory === undefined ? [] : [['memory' as const, memory]]);
    return await this.#undoWithOutcome({ ...change, limits }, journal, size);
  }

  #now(): number {
    return this.#clock.wall() / 1000;
  }

  #undoWithOutcome(
    change: OpenChange,
    journal: Journal | null,
    killedAt: number | null,
  ): Promise<ActionOutcome> {
    return this.#withOutcome(change.function, (namespace, path) =>
      this.#undoOne(change, namespace, path, journal, killedAt),
    );
  }

  async #applyOne(one: {
    request: LimitRequest;
    namespace: Namespace;
    path: string;
    journal: Journal | null;
    open: OpenChange | undefined;
    findHolds: FindHolds;
  }): Promise<ActionOutcome> {
    const { request, namespace, path, journal, open, findHolds } = one;
    const { function: fn } = request;
    const heldBy = async () => (await findHolds([fn])).get(fn);
    if (journal !== null && request.urgent !== true) await this.#waitForRateLimit();
    const read = () => namespace.rest.action(path);
    let action = await this.#retryPolicy.execute(read);
    const planNow = () =>
      this.plan({ function: fn, action, ranges: namespace.ranges }, request, open);
    let planned = planNow();
    for (let checked = ''; isChange(planned) && action.version !== checked; planned = planNow()) {
      const why = await heldBy();
      if (why !== undefined) return heldOutcome(fn, why);
      if (journal === null) break;
      checked = action.version;
      // The check took a moment. Not retried: a minute later it would not count any more.
      action = await read();
    }
    const outcome = {
      function: fn,
      planned,
      from: pick(action, planned.to),
      to: planned.to,
      note: '',
    };
    if (!isChange(planned)) return { ...outcome, result: 'unchanged' };
    if (journal === null) return { ...outcome, result: 'would change' };

    const original: { [Limit in WritableLimit]?: number } = {};
    for (const limit of writableLimits) {
      if (planned.to[limit] === undefined) continue;
      const value = originalOf(open, limit, planned.now[limit]);
      if (value !== null) original[limit] = value;
    }
    const line = { v: 1 as const, function: fn, at: this.#now() };
    const { to } = planned;
    const { why } = request;
    journal.append({ ...line, kind: 'intent', version: action.version, original, to, why });
    this.#lastChange = this.#clock.monotonic();
    try {
      const isHeld = async () => (await heldBy()) !== undefined;
      const after = await this.#retryPolicy.write(namespace.rest, path, action, to, isHeld);
      journal.append({ ...line, kind: 'done', version: after.version });
      return { ...outcome, result: 'changed', note: raced(action, after) };
    } catch (error) {
      // After an unknown end the intent stays, for undo to look.
      if (
        isOpenWhiskError(error) &&
        !(error instanceof OpenWhiskUnavailableError && error.uncertain)
      )
        journal.append({ ...line, kind: 'refused' });
      throw error;
    }
  }

  async #undoOne(
    change: OpenChange,
    namespace: Namespace,
    path: string,
    journal: Journal | null,
    killedAt: number | null,
  ): Promise<ActionOutcome> {
    const { function: fn } = change;
    const outcome = { function: fn, planned: null };
    const close = (why: 'undone' | 'gone' | 'changed_by_others'): void => {
      const line = { v: 1 as const, function: fn, at: this.#now() };
      if (killedAt !== null && why !== 'gone')
        journal?.append({ ...line, kind: 'killed', memory: killedAt });
      else journal?.append({ ...line, kind: 'closed', why });
    };
    let settled = change.answered;
    for (let attempt = 1; ; attempt++) {
      let action: RestAction;
      try {
        action = await this.#retryPolicy.execute(() => namespace.rest.action(path));
      } catch (error) {
        if (!(error instanceof ActionNotFoundError)) throw error;
        close('gone');
        return { ...outcome, result: 'unchanged', from: {}, to: {}, note: 'the action is gone' };
      }
      const { to, changedByOthers, raisedToMax } = planUndo(change, action, namespace.ranges);
      const notes = [
        ...(changedByOthers.length > 0
          ? [`${changedByOthers.join(', ')}: changed by another client since; left unchanged`]
          : []),
        ...(raisedToMax ? ["instances: the namespace's whole concurrency, which is as none"] : []),
      ];
      const known = { ...outcome, from: pick(action, to), to, note: notes.join('; ') };
      if (Object.keys(to).length === 0 && !settled && journal !== null) {
        // Closed now, a late change would never be undone.
        settled = true;
        await this.#pause(IN_FLIGHT_WAIT);
        continue;
      }
      if (Object.keys(to).length === 0) {
        close(changedByOthers.length > 0 ? 'changed_by_others' : 'undone');
        return { ...known, result: 'unchanged' };
      }
      if (journal === null) return { ...known, result: 'would undo' };
      try {
        await this.#retryPolicy.write(namespace.rest, path, action, to);
        close('undone');
        return { ...known, result: 'undone' };
      } catch (error) {
        if (!(error instanceof ActionConflictError) || attempt >= this.#settings.attempts)
          throw error;
      }
    }
  }

  /** Errors become outcomes; after a key was refused its namespace gets no more requests. */
  async #withOutcome(
    fn: string,
    act: (namespace: Namespace, path: string) => Promise<ActionOutcome>,
  ): Promise<ActionOutcome> {
    const [, name = '', ...path] = fn.split('/');
    const namespace = this.#namespaces.get(name);
    const nothing = { function: fn, planned: null, from: {}, to: {} };
    const failed = (note: string): ActionOutcome => ({ ...nothing, result: 'failed', note });
    if (namespace === undefined) return failed(`there is no key of the namespace ${name}`);
    if (namespace.keyError !== null) return failed(messageOf(namespace.keyError));
    try {
      return await act(namespace, path.join('/'));
    } catch (error) {
      if (error instanceof OpenWhiskAuthError) namespace.keyError = error;
      if (!isOpenWhiskError(error)) throw error;
      return failed(messageOf(error));
    }
  }

  async #waitForRateLimit(): Promise<void> {
    const wait = this.nextChangeIn;
    if (wait > 0) await this.#pause(wait);
  }
}

const isOpenWhiskError = (error: unknown): boolean =>
  [
    ActionConflictError,
    ActionNotFoundError,
    OpenWhiskResponseError,
    OpenWhiskAuthError,
    OpenWhiskUnavailableError,
    OpenWhiskRefusedError,
  ].some((kind) => error instanceof kind);

/**
 * A PUT raises the patch number by one (Actions.scala, `upPatch`): by more if another client
 * wrote between our two requests.
 */
function raced(before: RestAction, after: RestAction): string {
  const [major, minor, patch] = before.version.split('.').map(Number) as [number, number, number];
  return after.version === `${major}.${minor}.${patch + 1}`
    ? ''
    : `another client changed the action meanwhile: version ${before.version} became ` +
        `${after.version}`;
}

function pick(action: RestAction, like: LimitValues): LimitValues {
  const some: { [Limit in WritableLimit]?: number } = {};
  for (const limit of writableLimits) {
    const value = action.limits[limit];
    if (like[limit] !== undefined && value !== undefined && value !== null) some[limit] = value;
  }
  return some;
}
