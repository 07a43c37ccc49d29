import { errorClass, GleanerError, type Millis, messageOf } from '../config/index.js';
import { changeMode, type ModeAuthor, type ModeChange } from './mode-store.js';
import type { Broker } from './port.js';
import { callEveryInstance } from './services/index.js';
import { services } from './subjects.js';

export interface ModeOutcome {
  /** Hosts whose hook has applied it. */
  readonly hosts: readonly string[];
  /** Errors of hooks that have not applied it, by host. */
  readonly failed: ReadonlyMap<string, string>;
  /** Null if it is stored, so that hooks that start later apply it, too. */
  readonly notStored: GleanerError | null;
}

/** A change is applied but not stored: it is lost when the hooks restart. */
export class ModeNotStoredError extends errorClass('GLN_MODE_NOT_STORED') {
  constructor(hosts: number, cause: GleanerError) {
    const named = `${hosts} host${hosts === 1 ? '' : 's'}`;
    super(named, cause.message, cause.hint, cause);
  }
}

interface Request {
  readonly endpoint: string;
  readonly request: object;
}

function requestsOf(
  fn: string | null,
  { mode, paused, kill }: ModeChange,
  author: string,
): Request[] {
  const of = fn === null ? {} : { function: fn };
  const requests: Request[] = [];
  if (kill !== undefined)
    requests.push({
      endpoint: 'restore',
      request: { ...(kill ? { hold: true } : { release: true }), author },
    });
  if (paused !== undefined && fn !== null)
    requests.push({ endpoint: paused ? 'pause' : 'resume', request: { ...of, author } });
  if (mode !== undefined) requests.push({ endpoint: 'mode', request: { ...of, mode, author } });
  return requests;
}

/**
 * Changes the mode, a pause or the kill switch on every host: requests to the hooks, which need no
 * JetStream, apply it, and the bucket `gleaner_mode` stores it for hooks that start later. Each
 * works without the other. Rejects as {@link changeMode} does if neither works.
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
  const [notStored, hookResults] = await Promise.all([
    stored,
    notifyHooks(broker, requestsOf(fn, change, changedBy.author), wait),
  ]);
  const hosts = [...hookResults].filter(([, error]) => error === null).map(([host]) => host);
  if (notStored !== null && hosts.length === 0) throw notStored;
  const failed = new Map(
    [...hookResults].flatMap(([host, error]) => (error === null ? [] : [[host, error] as const])),
  );
  return { hosts: hosts.sort(), failed, notStored };
}

/** By host: null, or why the hook has not applied it. */
async function notifyHooks(
  broker: Broker,
  requests: readonly Request[],
  wait?: Millis,
): Promise<Map<string, string | null>> {
  const hookResults = new Map<string, string | null>();
  for (const one of requests) {
    const call = { service: services.hook, ...one, ...(wait === undefined ? {} : { wait }) };
    let answers: Map<string, unknown>;
    try {
      answers = await callEveryInstance(broker, call);
    } catch {
      // No hook can be asked; the stored value remains.
      return hookResults;
    }
    for (const [host, answer] of answers)
      hookResults.set(host, failureOf(answer) ?? hookResults.get(host) ?? null);
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
  'GLN_BROKER_TIMEOUT',
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
