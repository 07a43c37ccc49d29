import { EXPLAINED_ACTIVATIONS } from '../../broker/services/index.js';
import type { ChoiceReason, Grant, RangeReason } from '../decision/index.js';
import type { EndedActivation, EndReason } from './ended-activation.js';

/** One resource of one past activation: millicores or bytes. */
interface ExplainedGrant {
  user: number;
  demand: number;
  lower: number;
  upper: number;
  granted: number;
  borrowed: number;
  rangeReason: RangeReason;
  choice: ChoiceReason;
  /** Highest use seen; -1 when no window of it counted. */
  peak: number;
}

/** What `gleaner explain` shows of one activation. */
export interface Explanation {
  activation: string;
  version: string;
  container: string;
  /** Wall clock, us. */
  startedAt: number;
  durationMillis: number;
  initMillis: number;
  cold: boolean;
  control: boolean;
  enforced: boolean;
  ended: EndReason;
  status: number;
  clean: boolean;
  /** The user changed the container's limits while it ran. */
  limitsChanged: boolean;
  cpuMode: 'quota' | 'weight';
  shares: number;
  userShares: number;
  cpu: ExplainedGrant;
  memory: ExplainedGrant;
  /** Memory above the user's limit, lent for the container's life, bytes. */
  loan: number;
  trippedCpu: boolean;
  trippedMemory: boolean;
  /** The agent's target, millicores and bytes; NaN: none. */
  targetCpu: number;
  targetMemory: number;
  /** CPU-ms kept free, and used above the user's limit. */
  harvested: number;
  accelerated: number;
  /** Run time saved, ms (an estimate). */
  saved: number;
}

/** Numbers of one activation, in the order of `record` and `#at`. */
const NUMBERS = 27;
const TEXTS = 3;
const WORDS = 6;
const GRANT_NUMBERS = 7;
/** The last numbers are the grants of CPU and memory. */
const GRANTS = NUMBERS - 2 * GRANT_NUMBERS;
const NO_NUMBERS = new Float64Array(0);

/** The reasons and modes so far, of which there are tens, by their numbers. */
const words: string[] = [];
const numbersOfWords = new Map<string, number>();

function numberOf(word: string): number {
  let number = numbersOfWords.get(word);
  if (number === undefined) {
    number = words.push(word) - 1;
    numbersOfWords.set(word, number);
  }
  return number;
}

/**
 * The last activations of one function, as numbers; made into text on request. Flat: as
 * objects those of a thousand functions were 14 MiB.
 */
export class Explanations {
  #numbers = NO_NUMBERS;
  readonly #texts: string[] = new Array<string>(EXPLAINED_ACTIVATIONS * TEXTS).fill('');
  readonly #words = new Uint8Array(EXPLAINED_ACTIVATIONS * WORDS);
  #capacity = 0;
  #count = 0;
  #next = 0;

  record(activation: EndedActivation): void {
    const { run, container } = activation;
    if (this.#next === this.#capacity && this.#capacity < EXPLAINED_ACTIVATIONS) this.#grow();
    if (this.#next === EXPLAINED_ACTIVATIONS) this.#next = 0;
    const numbers = this.#numbers;
    let at = this.#next * NUMBERS;
    numbers[at++] = activation.startedAt;
    numbers[at++] = activation.duration / 1000;
    numbers[at++] = activation.initMicros / 1000;
    numbers[at++] = flagsOf(activation);
    numbers[at++] = activation.status;
    numbers[at++] = run.shares;
    numbers[at++] = container.user.shares;
    numbers[at++] = run.container.memoryLoan;
    numbers[at++] = run.targetCpu;
    numbers[at++] = run.targetMemory;
    numbers[at++] = run.harvested;
    numbers[at++] = run.accelerated;
    numbers[at++] = run.saved;
    putGrant(numbers, at, run.cpu);
    putGrant(numbers, at + GRANT_NUMBERS, run.memory);
    at = this.#next * TEXTS;
    this.#texts[at++] = activation.id;
    this.#texts[at++] = activation.revision.version;
    this.#texts[at++] = container.id;
    at = this.#next * WORDS;
    this.#words[at++] = numberOf(activation.reason);
    this.#words[at++] = numberOf(run.container.mode);
    this.#words[at++] = numberOf(run.cpu.reason);
    this.#words[at++] = numberOf(run.cpu.choice);
    this.#words[at++] = numberOf(run.memory.reason);
    this.#words[at++] = numberOf(run.memory.choice);
    this.#next++;
    if (this.#count < EXPLAINED_ACTIVATIONS) this.#count++;
  }

  /** Null before the first. */
  get newest(): Explanation | null {
    return this.#count === 0 ? null : this.#at(this.#next - 1);
  }

  /** Youngest first. */
  latest(): readonly Explanation[] {
    return Array.from({ length: this.#count }, (_, i) =>
      this.#at((this.#next - 1 - i + EXPLAINED_ACTIVATIONS) % EXPLAINED_ACTIVATIONS),
    );
  }

  #grow(): void {
    this.#capacity = Math.min(EXPLAINED_ACTIVATIONS, Math.max(2, this.#capacity * 2));
    const before = this.#numbers;
    this.#numbers = new Float64Array(this.#capacity * NUMBERS);
    this.#numbers.set(before);
  }

  #at(place: number): Explanation {
    const numbers = this.#numbers.subarray(place * NUMBERS, (place + 1) * NUMBERS);
    const number = (at: number): number => numbers[at]!;
    const flag = (bit: number): boolean => (number(3) & bit) !== 0;
    const text = (at: number): string => this.#texts[place * TEXTS + at]!;
    const word = (at: number): string => words[this.#words[place * WORDS + at]!]!;
    return {
      activation: text(0),
      version: text(1),
      container: text(2),
      startedAt: number(0),
      durationMillis: number(1),
      initMillis: number(2),
      cold: flag(Flag.cold),
      control: flag(Flag.control),
      enforced: flag(Flag.enforced),
      ended: word(0) as EndReason,
      status: number(4),
      clean: flag(Flag.clean),
      limitsChanged: flag(Flag.limitsChanged),
      cpuMode: word(1) as Explanation['cpuMode'],
      shares: number(5),
      userShares: number(6),
      cpu: grantOf(numbers, GRANTS, word(2), word(3)),
      memory: grantOf(numbers, GRANTS + GRANT_NUMBERS, word(4), word(5)),
      loan: number(7),
      trippedCpu: flag(Flag.trippedCpu),
      trippedMemory: flag(Flag.trippedMemory),
      targetCpu: number(8),
      targetMemory: number(9),
      harvested: number(10),
      accelerated: number(11),
      saved: number(12),
    };
  }
}

const Flag = {
  cold: 1,
  control: 2,
  enforced: 4,
  clean: 8,
  trippedCpu: 16,
  trippedMemory: 32,
  limitsChanged: 64,
};

const flagsOf = ({ cold, clean, limitsChanged, run }: EndedActivation): number =>
  (cold ? Flag.cold : 0) |
  (run.control ? Flag.control : 0) |
  (run.enforced ? Flag.enforced : 0) |
  (clean ? Flag.clean : 0) |
  (limitsChanged ? Flag.limitsChanged : 0) |
  (run.trippedCpu ? Flag.trippedCpu : 0) |
  (run.trippedMemory ? Flag.trippedMemory : 0);

function putGrant(into: Float64Array, at: number, grant: Grant): void {
  into[at] = grant.user;
  into[at + 1] = grant.demand;
  into[at + 2] = grant.lower;
  into[at + 3] = grant.upper;
  into[at + 4] = grant.granted;
  into[at + 5] = grant.borrowed;
  into[at + 6] = grant.peak;
}

function grantOf(from: Float64Array, at: number, reason: string, choice: string): ExplainedGrant {
  return {
    user: from[at]!,
    demand: from[at + 1]!,
    lower: from[at + 2]!,
    upper: from[at + 3]!,
    granted: from[at + 4]!,
    borrowed: from[at + 5]!,
    rangeReason: reason as RangeReason,
    choice: choice as ChoiceReason,
    peak: from[at + 6]!,
  };
}
