import type { Target } from '../../broker/messages/index.js';
import type { Bytes, Millicores, Millis } from '../../config/index.js';

/** Numbers of a row; NaN where the target sets nothing. */
const At = {
  arrival: 0,
  cpu: 1,
  memory: 2,
  weightFactor: 3,
  containers: 4,
  concurrency: 5,
  observedAt: 6,
  sequence: 7,
  peakUserMemory: 8,
  peakMemory: 9,
} as const;
const WIDTH = 10;

/**
 * Targets on their way to the functions of one host, a row of numbers each: as messages they would
 * outlive the young generation, and most of them would wait for their function's next activation.
 */
export class TargetsInFlight {
  #numbers = new Float64Array(64 * WIDTH);
  #rows = 0;
  /** The only one that is a message, filled when it arrives. */
  #message: Target | null = null;
  readonly #peak = { userMemory: 0 as Bytes, memory: 0 as Bytes };

  /** For another function; returns its number. */
  addRow(): number {
    const row = this.#rows++;
    if (this.#numbers.length < this.#rows * WIDTH) {
      const before = this.#numbers;
      this.#numbers = new Float64Array(2 * before.length);
      this.#numbers.set(before);
    }
    return row;
  }

  send(row: number, target: Target, arrival: Millis): void {
    this.#message ??= emptyMessage(target);
    const numbers = this.#numbers;
    const at = row * WIDTH;
    numbers[at + At.arrival] = arrival;
    numbers[at + At.cpu] = target.cpu ?? Number.NaN;
    numbers[at + At.memory] = target.memory ?? Number.NaN;
    numbers[at + At.weightFactor] = target.weightFactor ?? Number.NaN;
    numbers[at + At.containers] = target.containers ?? Number.NaN;
    numbers[at + At.concurrency] = target.concurrency ?? Number.NaN;
    numbers[at + At.observedAt] = target.echo.observedAt;
    numbers[at + At.sequence] = target.author.sequence;
    numbers[at + At.peakUserMemory] = target.peak?.userMemory ?? Number.NaN;
    numbers[at + At.peakMemory] = target.peak?.memory ?? Number.NaN;
  }

  /**
   * The last target sent to `action` if it has arrived by now; valid until the next call. Only for
   * a row that one was sent to.
   */
  take(row: number, action: string, now: Millis): Target | null {
    const numbers = this.#numbers;
    const at = row * WIDTH;
    const message = this.#message;
    if (numbers[at + At.arrival]! > now || message === null) return null;
    const setOf = (number: number): number | undefined =>
      Number.isNaN(number) ? undefined : number;
    message.function = action;
    message.cpu = setOf(numbers[at + At.cpu]!) as Millicores | undefined;
    message.memory = setOf(numbers[at + At.memory]!) as Bytes | undefined;
    message.weightFactor = setOf(numbers[at + At.weightFactor]!);
    message.containers = setOf(numbers[at + At.containers]!);
    message.concurrency = setOf(numbers[at + At.concurrency]!);
    message.echo.observedAt = numbers[at + At.observedAt]! as Millis;
    message.author.sequence = numbers[at + At.sequence]!;
    const userMemory = numbers[at + At.peakUserMemory]! as Bytes;
    this.#peak.userMemory = userMemory;
    this.#peak.memory = numbers[at + At.peakMemory]! as Bytes;
    message.peak = userMemory >= 0 ? this.#peak : undefined;
    return message;
  }
}

/** All members from the start: an object that gets more later is slow. */
const emptyMessage = ({ epoch, echo, author }: Target): Target => ({
  v: 1,
  function: '',
  cpu: undefined,
  memory: undefined,
  weightFactor: undefined,
  containers: undefined,
  concurrency: undefined,
  epoch,
  echo: { ...echo },
  peak: undefined,
  author: { ...author },
});
