/**
 * Where an activation is on its way. On a core in `init`, `before` (its I/O wait) and `after`; else
 * it waits for an instant.
 */
export const Phase = {
  free: 0,
  /** In a host's queue for room, or in its function's for a container. */
  queued: 1,
  /** Its container is being made. */
  creating: 2,
  unpausing: 3,
  /** Somebody else's `/init` makes the container that both will use. */
  waitingForInit: 4,
  init: 5,
  before: 6,
  waiting: 7,
  after: 8,
  /** No activation: a prewarmed container is being made. */
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
  /** Has just come: the next plan decides. */
  fresh: 4,
} as const;

/** What the work done will have reached at `stop`. */
export const Stop = { work: 0, memoryLimit: 1, memoryTrip: 2, revise: 3 } as const;

/** Why an activation is due at `dueAt`. */
export const Due = { stop: 0, timer: 1, deadline: 2, throttle: 3, refill: 4, crossing: 5 } as const;

const FIRST = 1024;
const doubles = (): Float64Array => new Float64Array(FIRST);
const integers = (): Int32Array => new Int32Array(FIRST);
const bytes = (): Uint8Array => new Uint8Array(FIRST);

/**
 * Activations in the cluster as columns; an activation is a place, taken again as soon as it is
 * free. Grows by doubling with the number in flight, never with the number of calls. Fields are
 * written out so that every access has one shape.
 */
export class ActivationColumns {
  /** Place of the call in the stream. */
  call = doubles();
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
  /** Nominal memory the balancer has counted for it, MiB. */
  memory = doubles();
  /**
   * Of the present part (`init`, or the whole run): core-us asked and done, and the next milestone.
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
  /**
   * While it waits for its share: the host's virtual time when it was settled, and at its next
   * milestone.
   */
  settledVirtual = doubles();
  dueVirtual = doubles();
  /**
   * The quota's bucket: core-us a period (0 = it never binds), used of it, and when the present
   * period ends.
   */
  quota = doubles();
  used = doubles();
  periodEnd = doubles();
  /** Periods in which its quota was used up. */
  throttled = doubles();
  /** Time it was ready to run but had no core, us; throttled time does not count. */
  waited = doubles();
  /** The safeguard trips when its use reaches so many cores; Infinity = nothing to watch. */
  tripRate = doubles();
  /** Where the window begins over which use is measured, and the CPU used by then. */
  windowAt = doubles();
  windowCpu = doubles();
  /** Work done at which its policy wants to be asked again; Infinity = never. */
  reviseAt = doubles();

  fn = integers();
  host = integers();
  container = integers();
  /** Next in a queue, or in the list of free places. */
  next = integers();
  /** Next activation of the same container. */
  sibling = integers();
  /** Its place in its host's list. */
  place = integers();

  phase = bytes();
  /** See `OnCore`. */
  onCore = bytes();
  stopKind = bytes();
  dueKind = bytes();
  /** Of `dueVirtual`. */
  virtualKind = bytes();
  /** How its container was had (`StartKind`). */
  start = bytes();
  /** Counts in the figures: it did not arrive while the cluster was filling up. */
  counted = bytes();
}

export class Activations {
  readonly columns = new ActivationColumns();
  #capacity = FIRST;
  #free = -1;
  #high = 0;
  /** Places in use. */
  count = 0;

  /** Places ever used. */
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

/** Makes every column of an object longer, its content kept. */
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
