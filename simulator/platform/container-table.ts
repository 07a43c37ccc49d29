/** Life of a container, as OpenWhisk's invoker drives it. */
export const State = {
  free: 0,
  /** `docker run` has been ordered. */
  starting: 1,
  /** `/init` or `/run` under way. */
  busy: 2,
  idle: 3,
  paused: 4,
  unpausing: 5,
  /** Ordered to go (`rm -f`): it works on until it is gone. */
  removing: 6,
  /** Its processes were killed; the name and the admitted memory go with the removal. */
  dead: 7,
} as const;

/** What the processes of a busy container do. */
export const Phase = {
  none: 0,
  /** CPU: starting the runtime and answering `/init`. */
  init: 1,
  /** CPU: the first half of the work. */
  before: 2,
  /** Waiting for others, no core used. */
  waiting: 3,
  /** CPU: the second half. */
  after: 4,
} as const;

const COLUMNS = [
  'weight',
  'quota',
  'period',
  'epoch',
  'usedPeriod',
  'used',
  'throttledIn',
  'parallelism',
  'rate',
  'speed',
  'settledAt',
  'work',
  'done',
  'target',
  'base',
  'resident',
  'peak',
  'growth',
  'limit',
  'peakSeen',
  'cpuUsed',
  'periods',
  'throttledPeriods',
  'waited',
  'oomKills',
  'limitHits',
  'sensitivity',
  'pressure',
  'stamp',
  'address',
  'number',
  'connection',
  'lastUsed',
  'arrivedAt',
  'runAt',
] as const;

type Column = (typeof COLUMNS)[number];

/**
 * All containers of a host as columns of typed arrays; a container is a slot. Units: microseconds,
 * core-microseconds (work, quota, used), bytes, cores (rate, speed, parallelism). Slots are reused,
 * `stamp` never repeats: what an event was meant for is (slot, stamp).
 */
export class ContainerTable {
  state = new Uint8Array(0);
  phase = new Uint8Array(0);
  throttled = new Uint8Array(0);
  fn = new Int32Array(0);
  activation = new Int32Array(0);
  readonly columns: Record<Column, Float64Array>;
  /** Slots ever used: scans stop here. */
  high = 0;

  constructor(capacity = 64) {
    const empty = {} as Record<Column, Float64Array>;
    for (const name of COLUMNS) empty[name] = new Float64Array(0);
    this.columns = empty;
    this.#resize(capacity);
  }

  /** The lowest free slot, cleared. */
  allocate(): number {
    let slot = 0;
    while (slot < this.high && this.state[slot] !== State.free) slot++;
    if (slot === this.high) {
      if (slot === this.state.length) this.#resize(this.state.length * 2);
      this.high++;
    }
    const stamp = this.columns.stamp[slot]!;
    for (const name of COLUMNS) this.columns[name][slot] = 0;
    this.columns.stamp[slot] = stamp + 1;
    this.phase[slot] = Phase.none;
    this.throttled[slot] = 0;
    this.activation[slot] = -1;
    return slot;
  }

  /** Makes pending events of the slot void. @returns the stamp for new ones */
  restamp(slot: number): number {
    this.columns.stamp[slot]!++;
    return this.columns.stamp[slot]!;
  }

  #resize(capacity: number): void {
    const grow = <T extends Uint8Array | Int32Array | Float64Array>(made: T, old: T): T => {
      made.set(old);
      return made;
    };
    this.state = grow(new Uint8Array(capacity), this.state);
    this.phase = grow(new Uint8Array(capacity), this.phase);
    this.throttled = grow(new Uint8Array(capacity), this.throttled);
    this.fn = grow(new Int32Array(capacity), this.fn);
    this.activation = grow(new Int32Array(capacity), this.activation);
    for (const name of COLUMNS)
      this.columns[name] = grow(new Float64Array(capacity), this.columns[name]);
  }
}
