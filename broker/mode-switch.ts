import { errorClass, GleanerError, type Millis, messageOf, systemClock } from '../config/index.js';
import { ModeConflictError, SharedHostNameError } from './errors.js';
import {
  decodeMode,
  encodeMessage,
  functionOfModeKey,
  MODE_GLOBAL,
  type ModeValue,
  modeKey,
  TEXT_MAX,
} from './messages/index.js';
import type { Broker, KeyValue, KeyValueEntry } from './port.js';
import { callEveryInstance, expectedInstances, silentHosts } from './services/index.js';
import { buckets, services } from './subjects.js';

/** Members to change; `mode: null` returns to the configured mode. */
export interface ModeChange {
  readonly mode?: ModeValue['mode'] | null;
  readonly paused?: boolean;
  readonly kill?: boolean;
}

export interface ModeAuthor {
  readonly author: string;
  readonly reason?: string;
}

const ATTEMPTS = 8;
/** Hooks that are away for less than a week learn who released a function, and why. */
const RELEASE_KEPT_MICROS = 7 * 24 * 3600 * 1e6;

/** Hooks refuse a longer one, and with it the change. */
const reasonOf = ({ reason = '' }: ModeAuthor): string => reason.slice(0, TEXT_MAX);

/**
 * Changes the stored mode of one function, or the global one (`fn` null). Members that are not
 * named stay: a pause must survive a change of mode. A value without effect stays for a week: it
 * tells hooks who released the function. Rejects with `GLN_MODE_CONFLICT`, and as the bucket does.
 */
export async function changeMode(
  broker: Broker,
  fn: string | null,
  change: ModeChange,
  changedBy: ModeAuthor,
): Promise<void> {
  const bucket = broker.keyValue(buckets.mode);
  const key = fn === null ? MODE_GLOBAL : modeKey(fn);
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const entry = await bucket.get(key);
    const decoded = entry?.value ? decodeMode(entry.value) : null;
    // An unreadable value holds the kill switch or a pause, which must survive other changes.
    const held = { kill: fn === null, paused: fn !== null, mode: undefined };
    const before = decoded?.ok === false ? held : decoded?.message;
    const next = {
      kill: change.kill ?? before?.kill ?? false,
      paused: change.paused ?? before?.paused ?? false,
      mode: change.mode === undefined ? before?.mode : (change.mode ?? undefined),
    };
    if (!entry?.value && !next.kill && !next.paused && next.mode === undefined) return;
    const { author } = changedBy;
    const reason = reasonOf(changedBy);
    const value = encodeMessage({ v: 1, ...next, author, reason, at: systemClock.wall() });
    const done = entry?.value
      ? await bucket.update(key, value, entry.revision)
      : await bucket.create(key, value);
    if (done === null) continue;
    // It costs a read of each key, which a pause or a kill switch must not wait for.
    if (!next.kill && !hasEffect(next)) await removeOldReleases(bucket);
    return;
  }
  throw new ModeConflictError(key);
}

/** A value that a release has left has none. */
const hasEffect = ({ paused, mode }: Pick<ModeValue, 'paused' | 'mode'>): boolean =>
  paused || mode !== undefined;

/**
 * Removes what old releases of functions have left. It is safe: for a hook that has read the
 * bucket, no value means no hold, and a hook that was away reads all values when it is back: a
 * missing one is then delivered as deleted (`key-value-watchers.ts`). Only author and reason are
 * lost. Never rejects: the next release tries again.
 */
async function removeOldReleases(bucket: KeyValue): Promise<void> {
  const before = systemClock.wall() - RELEASE_KEPT_MICROS;
  const isOld = ({ value }: KeyValueEntry): boolean => {
    const decoded = value && decodeMode(value);
    if (!decoded?.ok || hasEffect(decoded.message)) return false;
    return (decoded.message.at ?? 0) < before;
  };
  await bucket
    .sweep(
      (key) => functionOfModeKey(key) !== null,
      (entry) => (isOld(entry) ? 'purge' : 'keep'),
    )
    .catch(() => undefined);
}

export interface StoredModes {
  /** Stored mode of all functions and kill switch; null: none. */
  readonly global: ModeValue | null;
  /** Stored modes and pauses of functions, by name. */
  readonly functions: ReadonlyMap<string, ModeValue>;
  /** Functions whose value cannot be read, which pauses them; `global`: the kill switch holds. */
  readonly unreadable: readonly string[];
}

/** A value that cannot be read pauses its function. */
export interface UnreadableMode {
  readonly unreadable: true;
}

/** What is stored for one function; null: nothing with an effect. Rejects as the bucket does. */
export async function storedMode(
  broker: Broker,
  fn: string,
): Promise<ModeValue | UnreadableMode | null> {
  const entry = await broker.keyValue(buckets.mode).get(modeKey(fn));
  const decoded = entry?.value ? decodeMode(entry.value) : null;
  if (decoded?.ok === false) return { unreadable: true };
  return decoded && hasEffect(decoded.message) ? decoded.message : null;
}

/** Rejects as the bucket does. */
export async function storedModes(broker: Broker): Promise<StoredModes> {
  const bucket = broker.keyValue(buckets.mode);
  const functions = new Map<string, ModeValue>();
  const unreadable: string[] = [];
  let global: ModeValue | null = null;
  const read = async (key: string): Promise<void> => {
    const fn = functionOfModeKey(key);
    if (fn === null && key !== MODE_GLOBAL) return;
    const entry = await bucket.get(key);
    const decoded = entry?.value ? decodeMode(entry.value) : null;
    if (decoded === null) return;
    if (!decoded.ok) unreadable.push(fn ?? MODE_GLOBAL);
    else if (fn !== null && hasEffect(decoded.message)) functions.set(fn, decoded.message);
    else if (fn === null && (decoded.message.kill || hasEffect(decoded.message)))
      global = decoded.message;
  };
  await Promise.all((await bucket.keys()).map(read));
  return { global, functions, unreadable: unreadable.sort() };
}

export interface ModeOutcome {
  /** Hosts whose hook has applied it. */
  readonly hosts: readonly string[];
  /** Problems of those of them that have any, such as limits that they could not restore. */
  readonly problems: ReadonlyMap<string, string>;
  /** Errors of hooks that have not applied it, by host. */
  readonly failed: ReadonlyMap<string, string>;
  /** Null if it is stored, so that hooks that start later apply it, too. */
  readonly notStored: GleanerError | null;
}

/** A change is applied but not stored: it is lost when the hooks restart. */
class ModeNotStoredError extends errorClass('GLN_MODE_NOT_STORED') {
  constructor(hosts: number, cause: GleanerError) {
    const named = `${hosts} host${hosts === 1 ? '' : 's'}`;
    super(named, cause.message, cause.hint, cause);
  }
}

/** A host has applied a change, but not with all its effects. */
class ModeProblemError extends errorClass('GLN_MODE_PROBLEM') {}

class ModeNotInForceError extends errorClass('GLN_MODE_NOT_IN_FORCE') {}

/** A change is stored but applied by no hook: limits stay as they are. */
class ModeNoHookError extends errorClass('GLN_MODE_NO_HOOK') {}

/** A change is neither applied nor stored. */
class ModeNotChangedError extends errorClass('GLN_MODE_NOT_CHANGED') {
  constructor(failed: ReadonlyMap<string, string>, cause: GleanerError) {
    const hooks = [...failed].map(([host, why]) => `${host}: ${why}`).join(', ');
    super(hooks || 'no hook answers', cause.message, cause.hint, cause);
  }
}

/** Why a change is not fully in force on every host now and later; empty: it is. */
export function modeErrors(outcome: ModeOutcome): readonly GleanerError[] {
  const { hosts, problems, failed, notStored } = outcome;
  const errors: GleanerError[] = [
    ...[...problems].map(([host, what]) => new ModeProblemError(host, what)),
    ...[...failed].map(([host, why]) => new ModeNotInForceError(host, why)),
  ];
  if (hosts.length === 0 && failed.size === 0) errors.push(new ModeNoHookError());
  if (notStored !== null) errors.push(new ModeNotStoredError(hosts.length, notStored));
  return errors;
}

interface Request {
  readonly endpoint: string;
  readonly request: object;
}

function requestsOf(
  fn: string | null,
  { mode, paused, kill }: ModeChange,
  changedBy: ModeAuthor,
): Request[] {
  const of = fn === null ? {} : { function: fn };
  // A hook of an earlier release refuses a request with a reason.
  const { author } = changedBy;
  const reason = reasonOf(changedBy);
  const by = { author, ...(reason === '' ? {} : { reason }) };
  const requests: Request[] = [];
  if (kill !== undefined)
    requests.push({
      endpoint: 'restore',
      request: { ...(kill ? { hold: true } : { release: true }), ...by },
    });
  if (paused !== undefined && fn !== null)
    requests.push({ endpoint: paused ? 'pause' : 'resume', request: { ...of, ...by } });
  if (mode !== undefined) requests.push({ endpoint: 'mode', request: { ...of, mode, ...by } });
  return requests;
}

/**
 * Changes the mode, a pause or the kill switch on every host: requests to the hooks, which need no
 * JetStream, apply it, and the bucket `gleaner_mode` stores it for hooks that start later. Each
 * works without the other. Rejects with `GLN_MODE_NOT_CHANGED` if no hook has applied it and it is
 * not stored.
 */
export async function switchMode(
  broker: Broker,
  fn: string | null,
  change: ModeChange,
  changedBy: ModeAuthor,
  wait?: Millis,
): Promise<ModeOutcome> {
  const stored = changeMode(broker, fn, change, changedBy).then(
    () => null,
    (error: unknown) => {
      if (error instanceof GleanerError) return error;
      throw error;
    },
  );
  const [notStored, hookResults, expected] = await Promise.all([
    stored,
    notifyHooks(broker, requestsOf(fn, change, changedBy), wait),
    expectedInstances(broker),
  ]);
  for (const host of silentHosts(expected, services.hook, hookResults))
    hookResults.set(host, { isApplied: false, problem: 'its hook does not answer' });
  const results = [...hookResults];
  const hosts = results.filter(([, { isApplied }]) => isApplied).map(([host]) => host);
  const problemsIf = (applied: boolean): Map<string, string> =>
    new Map(
      results.flatMap(([host, { isApplied, problem }]) =>
        isApplied === applied && problem !== null ? [[host, problem] as const] : [],
      ),
    );
  const failed = problemsIf(false);
  if (notStored !== null && hosts.length === 0) throw new ModeNotChangedError(failed, notStored);
  return { hosts: hosts.sort(), problems: problemsIf(true), failed, notStored };
}

interface HookResult {
  readonly isApplied: boolean;
  readonly problem: string | null;
}

const APPLIED: HookResult = { isApplied: true, problem: null };

/** A request reaches every hook of a shared name, though one answers. */
const resultOf = (answer: unknown): HookResult => ({
  isApplied: !(answer instanceof Error) || answer instanceof SharedHostNameError,
  problem: failureOf(answer),
});

async function notifyHooks(
  broker: Broker,
  requests: readonly Request[],
  wait?: Millis,
): Promise<Map<string, HookResult>> {
  const hookResults = new Map<string, HookResult>();
  for (const one of requests) {
    const call = {
      service: services.hook,
      isExclusive: true,
      ...one,
      ...(wait === undefined ? {} : { wait }),
    };
    let answers: Map<string, unknown>;
    try {
      answers = await callEveryInstance(broker, call);
    } catch {
      // No hook can be asked; the stored value remains.
      return hookResults;
    }
    for (const [host, answer] of answers) {
      const [before, now] = [hookResults.get(host) ?? APPLIED, resultOf(answer)];
      const isApplied = before.isApplied && now.isApplied;
      hookResults.set(host, { isApplied, problem: now.problem ?? before.problem });
    }
  }
  return hookResults;
}

/** The failure in a hook's answer, such as limits that it could not restore; null if none. */
export function failureOf(answer: unknown): string | null {
  if (answer instanceof Error) return messageOf(answer);
  const { failed } = (answer ?? {}) as { readonly failed?: unknown };
  return typeof failed === 'number' && failed > 0
    ? `user limits of ${failed} containers cannot be restored`
    : null;
}

const RETRIED: readonly string[] = [
  'GLN_BROKER_STORE_FULL',
  'GLN_BROKER_STORE_UNAVAILABLE',
  'GLN_BROKER_NO_JETSTREAM',
  'GLN_BROKER_STORE_TIMEOUT',
  'GLN_BROKER_DISCONNECTED',
  'GLN_BROKER_STORE',
];

/** Retries to store a change for `during` ms. Resolves to null, or the error. Never rejects. */
export async function storeLater(
  broker: Broker,
  fn: string | null,
  change: ModeChange,
  changedBy: ModeAuthor,
  {
    first,
    during,
    every,
  }: { readonly first: GleanerError; readonly during: number; readonly every: number },
): Promise<GleanerError | null> {
  const end = performance.now() + during;
  let error = first;
  while (RETRIED.includes(error.code) && performance.now() + every <= end) {
    await new Promise((resolve) => setTimeout(resolve, every));
    try {
      await changeMode(broker, fn, change, changedBy);
      return null;
    } catch (failure) {
      if (!(failure instanceof GleanerError)) return error;
      error = failure;
    }
  }
  return error;
}
