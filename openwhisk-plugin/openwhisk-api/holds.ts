import { type Broker, buckets, services } from '../../broker/index.js';
import { decodeMode, MODE_GLOBAL, type ModeValue, modeKey } from '../../broker/messages/index.js';
import {
  expectedInstances,
  type FunctionView,
  type HostView,
} from '../../broker/services/index.js';
import { messageOf } from '../../config/index.js';
import type { FindHolds } from './action-writer.js';

/** The answer of a hook. */
interface HookModes {
  readonly host: Pick<HostView, 'host' | 'killed' | 'mode'>;
  readonly functions: readonly FunctionView[];
}

export interface HoldSources {
  /** Null: NATS is not read. */
  readonly broker: Broker | null;
  /** Asks every hook for one function, or for all with null. */
  inspectHooks(
    broker: Broker,
    fn: string | null,
  ): Promise<{
    readonly hooks: readonly HookModes[];
    /** A line for each hook whose answer cannot be read. */
    readonly unread: readonly string[];
    /** Hosts whose hooks were found and do not answer. */
    readonly missing: readonly string[];
  }>;
  /** The kill switch of this machine: its file, and whether it exists or why that is not known. */
  readonly killSwitch: { readonly path: string; read(): 'set' | 'unset' | Error };
  /** When it is aborted, the check rejects. */
  readonly signal?: AbortSignal | undefined;
}

type Holds = ReadonlyMap<string, string>;

/**
 * What holds changes of actions back: kill switch, pauses and modes, stored or in force on a hook
 * only. All are held while that is not known: a known hook is silent or of another version, a
 * stored mode cannot be read, or NATS is away.
 */
export function holdsFrom({ broker, inspectHooks, killSwitch, signal }: HoldSources): FindHolds {
  /** Hosts whose hooks are known to run. */
  let known: ReadonlySet<string> = new Set();
  const fromHooks = async (from: Broker, functions: readonly string[]): Promise<Holds> => {
    const expected = await expectedInstances(from);
    const hosts = expected.filter(({ service }) => service === services.hook);
    // Without a list of the running hooks those of earlier checks are still expected.
    if (expected.length > 0) known = new Set(hosts.map(({ host }) => host));
    // One request for one function. For several a hook lists all: a request for each would cost it
    // more.
    const one = functions.length === 1 ? functions[0]! : null;
    const { hooks, unread, missing } = await inspectHooks(from, one);
    const answered = new Set(hooks.map(({ host }) => host.host));
    const silent = [...missing, ...[...known].filter((host) => !answered.has(host))];
    known = new Set([...known, ...answered]);
    if (unread.length > 0) return all(functions, unread[0]!);
    if (silent.length > 0)
      return all(functions, `${services.hook} on ${silent[0]!} does not answer`);
    const killed = hooks.find(({ host }) => host.killed);
    if (killed !== undefined)
      return all(functions, `the kill switch is set on ${killed.host.host}`);
    return await fromModes(from, functions, hooks);
  };
  return async (functions) => {
    if (functions.length === 0) return new Map();
    const held =
      broker === null
        ? new Map()
        : await fromHooks(broker, functions).catch((error) => all(functions, messageOf(error)));
    // Last, since the other checks take a moment.
    signal?.throwIfAborted();
    const file = killSwitch.read();
    if (file === 'unset') return held;
    const unread = file === 'set' ? '' : ` or cannot be read (${messageOf(file)})`;
    return all(functions, `the kill switch is set${unread}: ${killSwitch.path}`);
  };
}

const all = (functions: readonly string[], why: string): Holds =>
  new Map(functions.map((fn) => [fn, why]));

/** By stored modes and pauses, and by those in force on hooks. */
async function fromModes(
  broker: Broker,
  functions: readonly string[],
  hooks: readonly HookModes[],
): Promise<Holds> {
  const bucket = broker.keyValue(buckets.mode);
  // Most functions have no mode of their own.
  const keys = functions.length === 1 ? null : new Set(await bucket.keys());
  /** Null: none; a string: why it cannot be read. */
  const read = async (key: string): Promise<ModeValue | string | null> => {
    if (keys?.has(key) === false) return null;
    const entry = await bucket.get(key);
    if (!entry?.value) return null;
    const decoded = decodeMode(entry.value);
    return decoded.ok ? decoded.message : `${key} in gleaner_mode cannot be read`;
  };
  const forAll = await read(MODE_GLOBAL);
  if (typeof forAll === 'string') return all(functions, forAll);
  if (forAll?.kill) return all(functions, 'the kill switch is set for all hosts');
  if (forAll?.paused) return all(functions, 'all functions are paused');
  const views = new Map<string, (readonly [host: string, view: FunctionView])[]>();
  for (const { host, functions: some } of hooks)
    for (const view of some)
      views.set(view.name, [...(views.get(view.name) ?? []), [host.host, view]]);
  const held = new Map<string, string>();
  for (const fn of functions) {
    const own = await read(modeKey(fn));
    const why = typeof own === 'string' ? own : heldBy(own, forAll, views.get(fn), hooks);
    if (why !== null) held.set(fn, why);
  }
  return held;
}

/** Null: nothing. `views`: the function on the hooks that know it. */
function heldBy(
  own: ModeValue | null,
  forAll: ModeValue | null,
  views: readonly (readonly [host: string, view: FunctionView])[] = [],
  hooks: readonly HookModes[],
): string | null {
  if (own?.kill) return 'the kill switch is set for it';
  if (own?.paused) return 'paused';
  const stored = own?.mode ?? forAll?.mode ?? 'enforce';
  if (stored !== 'enforce') return `mode ${stored}`;
  for (const [host, { paused, mode }] of views) {
    if (paused) return `paused on ${host}`;
    if (mode !== 'enforce') return `mode ${mode} on ${host}`;
  }
  // No hook knows it, so the mode of all functions applies unless it has its own.
  const other = hooks.find(({ host }) => host.mode !== 'enforce');
  return views.length === 0 && own?.mode === undefined && other !== undefined
    ? `mode ${other.host.mode} on ${other.host.host}`
    : null;
}
