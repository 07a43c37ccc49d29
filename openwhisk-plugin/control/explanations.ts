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
  cpuMode: 'quota' | 'weight';
  shares: number;
  userShares: number;
  cpu: ExplainedGrant;
  memory: ExplainedGrant;
  loan: number;
  trippedCpu: boolean;
  trippedMemory: boolean;
  targetCpu: number;
  targetMemory: number;
  /** CPU-ms kept free, CPU-ms above the user's limit, ms saved (an estimate): what it brought. */
  harvested: number;
  accelerated: number;
  saved: number;
}

const KEPT = 16;
/** Of one activation, in the order of `record` and `#at`. */
const NUMBERS = 32;
const TEXTS = 9;
const GRANT_NUMBERS = 7;
const NO_NUMBERS = new Float64Array(0);

/**
 * The last activations of one function, as numbers; made into text on request. Flat: as
 * objects those of a thousand functions were 14 MiB.
 */
export class Explanations {
  #numbers = NO_NUMBERS;
  readonly #texts: string[] = [];
  #room = 0;
  #count = 0;
  #next = 0;

  record(activation: EndedActivation): void {
    const { run, container } = activation;
    if (this.#next === this.#room && this.#room < KEPT) this.#grow();
    if (this.#next === KEPT) this.#next = 0;
    const numbers = this.#numbers;
    let at = this.#next * NUMBERS;
    numbers[at++] = activation.startedAt;
    numbers[at++] = activation.duration / 1000;
    numbers[at++] = activation.initMicros / 1000;
    numbers[at++] = Number(activation.cold);
    numbers[at++] = Number(run.control);
    numbers[at++] = Number(run.enforced);
    numbers[at++] = activation.status;
    numbers[at++] = Number(activation.clean);
    numbers[at++] = run.shares;
    numbers[at++] = container.user.shares;
    numbers[at++] = run.container.memoryLoan;
    numbers[at++] = Number(run.trippedCpu);
    numbers[at++] = Number(run.trippedMemory);
    numbers[at++] = run.targetCpu;
    numbers[at++] = run.targetMemory;
    numbers[at++] = run.harvested;
    numbers[at++] = run.accelerated;
    numbers[at++] = run.saved;
    putGrant(numbers, at, run.cpu);
    putGrant(numbers, at + GRANT_NUMBERS, run.memory);
    const texts = this.#texts;
    at = this.#next * TEXTS;
    texts[at++] = activation.id;
    texts[at++] = activation.revision.version;
    texts[at++] = container.id;
    texts[at++] = activation.reason;
    texts[at++] = run.container.mode;
    texts[at++] = run.cpu.reason;
    texts[at++] = run.cpu.choice;
    texts[at++] = run.memory.reason;
    texts[at++] = run.memory.choice;
    this.#next++;
    if (this.#count < KEPT) this.#count++;
  }

  /** Null before the first. */
  get newest(): Explanation | null {
    return this.#count === 0 ? null : this.#at(this.#next - 1);
  }

  /** Youngest first. */
  latest(): readonly Explanation[] {
    return Array.from({ length: this.#count }, (_, i) =>
      this.#at((this.#next - 1 - i + KEPT) % KEPT),
    );
  }

  #grow(): void {
    this.#room = Math.min(KEPT, Math.max(2, this.#room * 2));
    const before = this.#numbers;
    this.#numbers = new Float64Array(this.#room * NUMBERS);
    this.#numbers.set(before);
  }

  #at(place: number): Explanation {
    const numbers = this.#numbers.subarray(place * NUMBERS, (place + 1) * NUMBERS);
    const texts = this.#texts.slice(place * TEXTS, (place + 1) * TEXTS);
    const number = (at: number): number => numbers[at]!;
    const text = (at: number): string => texts[at]!;
    return {
      activation: text(0),
      version: text(1),
      container: text(2),
      startedAt: number(0),
      durationMillis: number(1),
      initMillis: number(2),
      cold: number(3) === 1,
      control: number(4) === 1,
      enforced: number(5) === 1,
      ended: text(3) as EndReason,
      status: number(6),
      clean: number(7) === 1,
      cpuMode: text(4) as Explanation['cpuMode'],
      shares: number(8),
      userShares: number(9),
      cpu: grantOf(numbers, 18, text(5), text(6)),
      memory: grantOf(numbers, 18 + GRANT_NUMBERS, text(7), text(8)),
      loan: number(10),
      trippedCpu: number(11) === 1,
      trippedMemory: number(12) === 1,
      targetCpu: number(13),
      targetMemory: number(14),
      harvested: number(15),
      accelerated: number(16),
      saved: number(17),
    };
  }
}

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
