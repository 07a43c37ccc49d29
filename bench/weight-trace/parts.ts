import { IDLE, type Steps, type Timelines } from './timelines.js';

/**
 * Where the response time of an activation goes; each moment counts once.
 *
 * - `late`: the client called later than it intended.
 * - `queue`: until the invoker sends `/run`.
 * - `pathIn`: until the packet of `/run` is at the tap. `pathOut`: from the answer's packet to the
 *   client.
 * - `own`: the function itself runs. `proxy`: the rest of the action proxy's main thread runs.
 * - `early`: it waits for a core, and the weight chosen for it is not in force yet.
 * - `lighter`: it waits for a container whose weight is below its own.
 * - `uneven`: it waits for a container of at least its weight, and another core is idle or runs a
 *   lighter container.
 * - `heavier`: it waits for containers of at least its weight, which have every core.
 * - `client`, `gleaner`, `engine`, `system`: it waits for one of these processes, or the kernel.
 * - `helpers`: its main thread waits for or sleeps while other threads of its container run.
 * - `asleep`: its main thread sleeps. `unknown`: the trace does not show what it did.
 */
export const PARTS = [
  'late',
  'queue',
  'pathIn',
  'own',
  'proxy',
  'early',
  'lighter',
  'uneven',
  'heavier',
  'client',
  'gleaner',
  'engine',
  'system',
  'helpers',
  'asleep',
  'pathOut',
  'unknown',
] as const;
export type Part = (typeof PARTS)[number];
export type Parts = Record<Part, number>;

/** What a thread belongs to: a container by its name, or one of the processes beside them. */
export type Owner =
  | { readonly container: string }
  | { readonly process: 'client' | 'gleaner' | 'engine' | 'system' };

/** Points of one activation, ms of one clock. */
export interface Moments {
  /** At which the client meant to call. */
  readonly intended: number;
  readonly called: number;
  /** At which the invoker began to send `/run`. */
  readonly sent: number;
  /** Packets at the tap. */
  readonly request: number;
  readonly answer: number;
  /** Of the function itself, inside its container. */
  readonly began: number;
  readonly ended: number;
  readonly received: number;
  /** The weight chosen for it was written; not later than `request` if nothing was written. */
  readonly weighed: number;
}

export interface Subject {
  readonly container: string;
  /** Of the action proxy, which also runs the function. */
  readonly mainThread: number;
}

export interface Host {
  readonly timelines: Timelines;
  ownerOf(thread: number): Owner;
  /** cgroup v1 weights of containers, over time. */
  readonly weights: ReadonlyMap<string, Steps<number>>;
}

/** Weights as close as this are equal: Gleaner leaves a weight alone that is this close. */
const EQUAL = 0.95;

export function decompose({ container, mainThread }: Subject, m: Moments, host: Host): Parts {
  const parts = Object.fromEntries(PARTS.map((part) => [part, 0])) as Parts;
  parts.late = m.called - m.intended;
  parts.queue = m.sent - m.called;
  parts.pathIn = m.request - m.sent;
  parts.pathOut = m.received - m.answer;
  const { timelines } = host;
  const cuts = [m.began, m.ended, m.weighed, ...timelines.cuts(mainThread, m.request, m.answer)]
    .filter((at) => at > m.request && at < m.answer)
    .sort((a, b) => a - b);
  let from = m.request;
  for (const to of [...cuts, m.answer]) {
    if (to > from) parts[partAt(from, container, mainThread, m, host)] += to - from;
    from = to;
  }
  return parts;
}

function partAt(
  at: number,
  container: string,
  mainThread: number,
  { began, ended, weighed }: Moments,
  host: Host,
): Part {
  const { timelines, ownerOf } = host;
  const known = timelines.stateOf(mainThread, at);
  if (known === undefined) return 'unknown';
  if (known.state === 'runs') return at >= began && at < ended ? 'own' : 'proxy';
  const onCores = timelines.cores.map((core) => core?.at(at) ?? IDLE);
  const isOwn = (thread: number): boolean => {
    const owner = ownerOf(thread);
    return thread !== IDLE && 'container' in owner && owner.container === container;
  };
  if (known.state === 'sleeps') return onCores.some(isOwn) ? 'helpers' : 'asleep';
  const runner = onCores[known.core] ?? IDLE;
  // The core is about to take it.
  if (runner === IDLE) return 'system';
  if (isOwn(runner)) return 'helpers';
  const owner = ownerOf(runner);
  if ('process' in owner) return owner.process;
  if (at < weighed) return 'early';
  const own = host.weights.get(container)?.at(at) ?? Number.NaN;
  const isLighter = (thread: number): boolean => {
    const other = ownerOf(thread);
    if (thread === IDLE || !('container' in other)) return false;
    return (host.weights.get(other.container)?.at(at) ?? Number.NaN) < own * EQUAL;
  };
  if (isLighter(runner)) return 'lighter';
  return onCores.some((thread) => thread === IDLE || isLighter(thread)) ? 'uneven' : 'heavier';
}
