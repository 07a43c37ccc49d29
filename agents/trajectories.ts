import {
  type Broker,
  encodeMessage,
  type MessageStream,
  streams,
  trajectorySubject,
  wildcards,
} from '../broker/index.js';
import { type Cancel, type Millis, messageOf, type Timers } from '../config/index.js';
import type { TrajectoryStep } from './simppo/index.js';

/** Most that the stream keeps: some 200,000 steps. The oldest go first. */
const STREAM_BYTES = 128 * 1024 * 1024;
/** Steps that wait, and appends on their way; what comes on top while the store is slow is not written. */
const OPEN_MAX = 256;
/** Steps are gathered for so long: one write to the socket for all of them, which is most of what a step costs. */
const GATHER_MS = 250 as Millis;
/** Significant digits of features, log-probabilities and rewards: what a network could tell apart. */
const DIGITS = 6;

const short = (value: number): number => Number(value.toPrecision(DIGITS)) + 0;

export interface TrajectoryAuthor {
  readonly host: string;
  readonly boot: string;
}

/**
 * Writes what agents saw, did and got into the stream `gleaner_trajectories`. Never waited for: while NATS is away or slow steps are dropped and counted.
 */
export class TrajectoryWriter {
  readonly #broker: Broker;
  readonly #stream: MessageStream;
  readonly #author: TrajectoryAuthor;
  readonly #timers: Timers;
  #waiting: TrajectoryStep[] = [];
  #cancel: Cancel = () => {};
  #open = 0;
  #sequence = 0;
  readonly counts = { written: 0, dropped: 0, failures: 0 };
  /** Of the newest failure. */
  lastError = '';

  constructor(broker: Broker, author: TrajectoryAuthor, timers: Timers) {
    this.#broker = broker;
    this.#timers = timers;
    this.#author = author;
    this.#stream = broker.stream(streams.trajectories, { subjects: [wildcards.trajectories], maxBytes: STREAM_BYTES });
  }

  write(step: TrajectoryStep): void {
    if (!this.#broker.connected || this.#open + this.#waiting.length >= OPEN_MAX) {
      this.counts.dropped++;
      return;
    }
    if (this.#waiting.push(step) === 1) this.#cancel = this.#timers.after(GATHER_MS, () => this.flush());
  }

  /** What waits goes out now. */
  flush(): void {
    this.#cancel();
    const steps = this.#waiting;
    this.#waiting = [];
    if (this.#broker.connected) for (const step of steps) this.#append(step);
    else this.counts.dropped += steps.length;
  }

  #append(step: TrajectoryStep): void {
    const { fn, invoker, manager, policy, updates, sampled, episode, action, span } = step;
    const message = encodeMessage({
      v: 1,
      function: fn,
      invoker,
      author: { ...this.#author, sequence: ++this.#sequence, manager, policy, updates, sampled },
      episode,
      step: step.step,
      state: Array.from(step.state, short),
      mask: Array.from(step.mask),
      action,
      logProbability: Math.min(0, short(step.logProbability)),
      reward: short(step.reward),
      discount: short(step.discount),
      span: short(span),
    });
    this.#open++;
    this.#stream.append(trajectorySubject(fn), message).then(
      () => {
        this.#open--;
        this.counts.written++;
      },
      (error: unknown) => {
        this.#open--;
        this.counts.failures++;
        this.lastError = messageOf(error).slice(0, 300);
      },
    );
  }
}
