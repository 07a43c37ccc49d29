import {
  type Broker,
  DroppingQueue,
  type MessageStream,
  streams,
  subjects,
  wildcards,
} from '../../broker/index.js';
import { encodeMessage } from '../../broker/messages/index.js';
import { type Cancel, type Millis, messageOf, type Timers } from '../../config/index.js';
import type { TrajectoryStep } from '../simppo/index.js';

/** Most appends without an answer. */
const OPEN_MAX = 256;
/** Most steps that wait, a few hundred bytes each; beyond it the oldest are dropped. */
const WAITING_MAX = 2048;
/** Steps are batched for this long: the write to the socket is most of a step's cost. */
const GATHER_MS = 250 as Millis;
/** Significant digits of features, log-probabilities and rewards; more would not train better. */
const DIGITS = 6;

const short = (value: number): number => Number(value.toPrecision(DIGITS)) + 0;

export interface TrajectoryAuthor {
  readonly host: string;
  readonly boot: string;
}

/**
 * Writes agents' steps (state, action, reward) into the stream `gleaner_trajectories`, in the
 * background: while NATS is away or slow the newest steps wait, and older ones are dropped and
 * counted.
 */
export class TrajectoryWriter {
  readonly #broker: Broker;
  readonly #stream: MessageStream;
  readonly #author: TrajectoryAuthor;
  readonly #timers: Timers;
  readonly #waiting = new DroppingQueue<TrajectoryStep>(WAITING_MAX);
  #gathering = false;
  #cancel: Cancel = () => {};
  #open = 0;
  #sequence = 0;
  readonly counts = { written: 0, dropped: 0, failures: 0 };
  lastError = '';

  /** `maxBytes`: size of the stream if it is created now, about 650 bytes per step. */
  constructor(
    broker: Broker,
    author: TrajectoryAuthor,
    timers: Timers,
    maxBytes = 128 * 1024 * 1024,
  ) {
    this.#broker = broker;
    this.#timers = timers;
    this.#author = author;
    this.#stream = broker.stream(streams.trajectories, {
      subjects: [wildcards.trajectories],
      maxBytes,
    });
  }

  write(step: TrajectoryStep): void {
    this.counts.dropped += this.#waiting.push(step);
    if (this.#gathering) return;
    this.#gathering = true;
    this.#cancel = this.#timers.after(GATHER_MS, () => this.flush());
  }

  /** Sends what waits, as far as NATS takes it. */
  flush(): void {
    this.#cancel();
    this.#gathering = false;
    while (this.#broker.connected && this.#open < OPEN_MAX) {
      const step = this.#waiting.shift();
      if (step === undefined) return;
      this.#append(step);
    }
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
    this.#stream
      .append(subjects.trajectory(fn), message)
      .then(
        () => {
          this.counts.written++;
        },
        (error: unknown) => {
          this.counts.failures++;
          this.lastError = messageOf(error).slice(0, 300);
        },
      )
      .finally(() => {
        this.#open--;
        // Steps that waited for a free append go out now, unless a batch is being gathered.
        if (!this.#gathering) this.flush();
      });
  }
}
