/**
 * State of an activation. It is on a core in `init`, `before` and `after` (the I/O wait lies
 * between them) and otherwise waits for an instant.
 */
export const Phase = {
  free: 0,
  /** In its host's queue for memory, or in its function's queue for a container. */
  queued: 1,
  /** Its container is being created. */
  creating: 2,
  unpausing: 3,
  /** The `/init` of another activation creates the container that both will use. */
  waitingForInit: 4,
  init: 5,
  before: 6,
  waiting: 7,
  after: 8,
  /** No activation: a prewarmed container is being created. */
  prewarming: 9,
} as const;

/** How an activation is on its host's cores. */
export const OnCore = {
  not: 0,
  /** Gets all it can use. */
  satisfied: 1,
  /** Gets its share. */
  sharing: 2,
  /** Its quota's bucket is empty. */
  throttled: 3,
  /** Has just joined: the next plan decides. */
  fresh: 4,
} as const;

/** What is reached at `stop`. */
export const Stop = { work: 0, memoryLimit: 1, memoryTrip: 2, revise: 3 } as const;

/** Why an activation is due at `dueAt`. */
export const Due = { stop: 0, timer: 1, deadline: 2, throttle: 3, refill: 4, crossing: 5 } as const;

const FIRST = 1024;
const doubles = (): Float64Array => new Float64Array(FIRST);
const integers = (): Int32Array => new Int32Array(FIRST);
const bytes = (): Uint8Array => new Uint8Array(FIRST);

/**
 * Activations in the cluster as columns, one index each, reused when it is free. They grow by
 * doubling with the number in flight. Fields are written out so that every access has one shape.
 */
export class ActivationColumns {
  /** Index in the stream. */
  activation = doubles();
  arrivedAt = doubles();
  placedAt = doubles();
  /** When `/init` or, warm, `/run` reached the container: what the tap sees. */
  tapAt = doubles();
  runAt = doubles();
  deadline = doubles();
  dueAt = doubles();
  /** Demand: core-us, us, bytes. */
  cpu = doubles();
  io = doubles();
  peak = doubles();
  /** Size of the payload, 1 = the function's median. */
  payload = doubles();
  /** Nominal memory that the balancer counts for it, MiB. */
  memory = doubles();
  /**
   * Work of the present phase (`init`, or the whole run), core-us: total, done, and done at the
   * next event.
   */
  work = doubles();
  done = doubles();
  stop = doubles();
  /** CPU time used in the container, init included. */
  cpuUsed = doubles();
  /**
   * Cores it can keep busy now, its weight, and cap / weight: at a level above that it is
   * satisfied.
   */
  cap = doubles();
  weight = doubles();
  ratio = doubles();
  settledAt = doubles();
  /** While it shares: the host's virtual time when it was settled and at its next event. */
  settledVirtual = doubles();
  dueVirtual = doubles();
  /** The quota's bucket: core-us a period (0: it never binds), core-us used, end of the period. */
  quota = doubles();
  used = doubles();
  periodEnd = doubles();
  /** Periods in which its quota was used up. */
  throttled = doubles();
  /** Time it was ready to run but had no core, us; throttled time does not count. */
  waited = doubles();
  /** Cores at which the safeguard trips; Infinity: not watched. */
  tripRate = doubles();
  /** Start of the window over which use is measured, and CPU used by then. */
  windowAt = doubles();
  windowCpu = doubles();
  /** Work done at which the policy decides again; Infinity: never. */
  reviseAt = doubles();

  fn = integers();
  host = integers();
  container = integers();
  /** Next in a queue, or in the list of free indices. */
  next = integers();
  /** Next activation of the same container. */
  sibling = integers();
  /** Index in its host's list. */
  place = integers();

  phase = bytes();
  /** See `OnCore`. */
  onCore = bytes();
  stopKind = bytes();
  dueKind = bytes();
  /** Kind of the event at `dueVirtual`. */
  virtualKind = bytes();
  /** `StartKind` of its container. */
  start = bytes();
  /** 1: counts in the figures (it arrived after the warm-up). */
  counted = bytes();
}

export class Activations {
  readonly columns = new ActivationColumns();
  #capacity = FIRST;
  #free = -1;
  #high = 0;
  /** Indices in use. */
  count = 0;

  /** Indices ever used. */
  get high(): number {
    return this.#high;
  }

  allocate(): number {
    this.count++;
    const free = this.#free;
    if (free >= 0) {
      this.#free = this.columns.next[free]!;
      return free;
    }
    if (this.#high === this.#capacity) {
      this.#capacity *= 2;
      growColumns(this.columns, this.#capacity);
    }
    return this.#high++;
  }

  release(activation: number): void {
    this.count--;
    this.columns.phase[activation] = Phase.free;
    this.columns.next[activation] = this.#free;
    this.#free = activation;
  }
}

/** Grows every column of an object and keeps its content. */
export function growColumns(columns: object, capacity: number): void {
  const table = columns as Record<string, Float64Array | Int32Array | Uint8Array>;
  for (const [name, column] of Object.entries(table)) {
    const grown =
      column instanceof Float64Array
        ? new Float64Array(capacity)
        : column instanceof Int32Array
          ? new Int32Array(capacity)
          : new Uint8Array(capacity);
    grown.set(column);
    table[name] = grown;
  }
}
