import type { SkippedEvent } from '../host/ports/index.js';

/** The counter of each kind of end. */
export const END_COUNTERS = {
  answer: 'clean',
  closed: 'closed',
  reset: 'reset',
  container_end: 'containerEnd',
  deadline: 'deadline',
  next_head: 'nextHead',
  init_failed: 'initFailed',
  tap_lost: 'tapLost',
  stopped: 'stopped',
} as const;

/** What the hook has seen and done since its start; `inspect` and the host report read it. */
export class Counters {
  requests = 0;
  answers = 0;
  started = 0;
  ended = 0;
  /** Ended by the answer, undisturbed. */
  clean = 0;
  /** Other kinds of end. */
  closed = 0;
  reset = 0;
  containerEnd = 0;
  deadline = 0;
  nextHead = 0;
  /** Their `/init` failed; also counted in `unreadableHead` if their identity could not be read. */
  initFailed = 0;
  tapLost = 0;
  stopped = 0;
  /** Starts that reached the hook too late for a limit. */
  late = 0;
  /** Starts whose policy is `target` and whose agent's target was missing or stale. */
  noTarget = 0;
  /** CPU-ms below and above user limits, and estimated ms saved, of all ended activations. */
  harvested = 0;
  accelerated = 0;
  saved = 0;
  clockSteps = 0;
  unknownContainer = 0;
  unreadableHead = 0;
  /** A name OpenWhisk would not allow, or a second function in one container. */
  unknownFunction = 0;
  limitsWritten = 0;
  limitsUnchanged = 0;
  limitsGone = 0;
  limitsRefused = 0;
  limitsNotEffective = 0;
  limitsUnsupported = 0;
  drift = 0;
  /** Limits that systemd must know and refused or did not acknowledge. */
  scopeFailures = 0;
  restores = 0;
  safeguards = 0;
  /** OOM kills under a limit below the user's; and at the user's limit or above. */
  oomHarvest = 0;
  oomUser = 0;
  boosts = 0;
  /** Containers that started for an activation: neither prewarmed nor found by a listing. */
  actionContainers = 0;
  loans = 0;
  tapRestarts = 0;
  tapDrops = 0;
  tapUnavailable = 0;
  tapCloses = 0;
  /** Packets that network interfaces dropped, as tcpdump reports; the tap did not lose them. */
  tapInterfaceDrops = 0;
  /** Counters of tcpdump that were implausible. */
  tapCountersIgnored = 0;
  engineDown = 0;
  /** Events of the engine that could not be used, by reason. */
  readonly eventsSkipped: Record<SkippedEvent, number> = { huge: 0, malformed: 0, unknown: 0 };
  /** Packets that the tap rejected, by {@link TapAnomaly}. */
  readonly anomalies: Record<string, number> = {};
}

/** The last lags from a request's kernel stamp to its limits in force, us, for percentiles. */
export class LagRing {
  readonly #values = new Float64Array(4096);
  #count = 0;

  add(micros: number): void {
    this.#values[this.#count % this.#values.length] = micros;
    this.#count++;
  }

  /** Nearest-rank quantiles over what is kept; null before the first. */
  quantiles(): { count: number; p50: number; p99: number } | null {
    if (this.#count === 0) return null;
    const kept = this.#values.slice(0, Math.min(this.#count, this.#values.length)).sort();
    const at = (q: number): number => kept[Math.max(0, Math.ceil(q * kept.length) - 1)]!;
    return { count: this.#count, p50: at(0.5), p99: at(0.99) };
  }
}
