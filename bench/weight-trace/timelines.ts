/** A thread of the kernel's idle loop: the core does nothing. */
export const IDLE = 0;

/** State of a thread: on a core, runnable but not on one, or asleep. */
export type ThreadState = 'runs' | 'waits' | 'sleeps';

/** A value that changes at points in time; between them it stays. Times do not decrease. */
export class Steps<T> {
  readonly times: number[] = [];
  readonly #values: T[] = [];

  set(at: number, value: T): void {
    if (this.#values.at(-1) === value) return;
    this.times.push(at);
    this.#values.push(value);
  }

  /** The value in force at `time`; undefined before the first. */
  at(time: number): T | undefined {
    return this.#values[this.#last(time)];
  }

  /** Adds the times of changes within (from, to) to `cuts`. */
  cut(from: number, to: number, cuts: number[]): void {
    for (let i = this.#last(from) + 1; i < this.times.length && this.times[i]! < to; i++)
      cuts.push(this.times[i]!);
  }

  #last(time: number): number {
    let low = 0;
    let high = this.times.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.times[middle]! <= time) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}

interface ThreadAt {
  readonly state: ThreadState;
  readonly core: number;
}

/** Who is on each core, and what each watched thread does, as the scheduler's events show it. */
export class Timelines {
  /** Thread on each core. */
  readonly cores: Steps<number>[] = [];
  readonly #threads = new Map<number, Steps<ThreadAt>>();
  readonly #names = new Map<number, string>();

  /** @param watched threads whose states are kept */
  constructor(watched: Iterable<number>) {
    for (const thread of watched) this.#threads.set(thread, new Steps());
  }

  /** @param isRunnable of the thread that leaves the core: it was preempted, it does not wait */
  switched(
    at: number,
    core: number,
    before: { readonly thread: number; readonly isRunnable: boolean },
    next: { readonly thread: number; readonly name: string },
  ): void {
    this.cores[core] ??= new Steps();
    this.cores[core].set(at, next.thread);
    this.#names.set(next.thread, next.name);
    this.#set(at, before.thread, before.isRunnable ? 'waits' : 'sleeps', core);
    this.#set(at, next.thread, 'runs', core);
  }

  woken(at: number, core: number, thread: number): void {
    if (this.stateOf(thread, at)?.state !== 'runs') this.#set(at, thread, 'waits', core);
  }

  /** A runnable thread was moved to another core. */
  migrated(at: number, core: number, thread: number): void {
    if (this.stateOf(thread, at)?.state === 'waits') this.#set(at, thread, 'waits', core);
  }

  stateOf(thread: number, at: number): ThreadAt | undefined {
    return this.#threads.get(thread)?.at(at);
  }

  nameOf(thread: number): string {
    return this.#names.get(thread) ?? '';
  }

  /** The points within (from, to) at which this thread or what is on any core changes, sorted. */
  cuts(thread: number, from: number, to: number): number[] {
    const cuts: number[] = [];
    this.#threads.get(thread)?.cut(from, to, cuts);
    for (const core of this.cores) core?.cut(from, to, cuts);
    return cuts.sort((a, b) => a - b);
  }

  #set(at: number, thread: number, state: ThreadState, core: number): void {
    this.#threads.get(thread)?.set(at, { state, core });
  }
}

const LINE =
  /\[(\d+)\] \S+ +(\d+\.\d+): (sched_switch|sched_wakeup(?:_new)?|sched_migrate_task): (.*)$/;
const SWITCH =
  /prev_pid=(\d+) prev_prio=-?\d+ prev_state=(\S+) ==> next_comm=(.*) next_pid=(\d+) next_prio/;
const WOKEN = / pid=(\d+) prio=-?\d+ target_cpu=(\d+)/;
const MIGRATED = / pid=(\d+) prio=-?\d+ orig_cpu=\d+ dest_cpu=(\d+)/;

/** Reads a line of tracefs' `trace` (clock `mono`, so that times are ms since the boot). */
export function readLine(line: string, into: Timelines): void {
  const [, core, seconds, event, detail] = LINE.exec(line) ?? [];
  if (core === undefined || seconds === undefined || detail === undefined) return;
  const at = Number(seconds) * 1000;
  if (event === 'sched_switch') {
    const [, before, state, name, next] = SWITCH.exec(detail) ?? [];
    if (before === undefined || state === undefined || name === undefined) return;
    const isRunnable = state.startsWith('R');
    const leaves = { thread: Number(before), isRunnable };
    into.switched(at, Number(core), leaves, { thread: Number(next), name });
    return;
  }
  const isMove = event === 'sched_migrate_task';
  const [, thread, target] = (isMove ? MIGRATED : WOKEN).exec(detail) ?? [];
  if (thread === undefined) return;
  if (isMove) into.migrated(at, Number(target), Number(thread));
  else into.woken(at, Number(target), Number(thread));
}
