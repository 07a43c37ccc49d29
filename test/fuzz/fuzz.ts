import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { SeededRandom } from '../../config/index.js';
import { Mutator } from './mutator.js';

/** One edge of Gleaner, and what may never happen there. */
export interface FuzzTarget {
  readonly name: string;
  /** The next input: a valid one, changed. */
  make(mutator: Mutator): Uint8Array;
  /**
   * Feeds it; throws where an invariant does not hold. Returns what became of it, `accepted` or the
   * kind of refusal.
   */
  check(input: Uint8Array): string | Promise<string>;
  /** Before the first input; for an edge of another process. */
  open?(): Promise<void>;
  /** After the last; throws where an invariant does not hold at the end. */
  close?(): Promise<void>;
  /** Inputs fed at a time; 1 by default. */
  readonly parallel?: number;
  /** What else is to be said of what was fed. */
  readonly note?: string;
  /** Memory in use, MiB; of this process by default. */
  memory?(): number;
}

export interface FuzzResult {
  readonly name: string;
  readonly inputs: number;
  readonly seconds: number;
  readonly outcomes: ReadonlyMap<string, number>;
  /**
   * Alive after a full collection, or what the target says, MiB: after the first tenth, and at the
   * end.
   */
  readonly early: number;
  readonly late: number;
  readonly grown: number;
  readonly note: string;
}

/** The input that broke an invariant, as text for a regression test. */
class FuzzFailure extends Error {
  constructor(target: string, seed: number, index: number, input: Uint8Array, cause: unknown) {
    const text = JSON.stringify(Buffer.from(input).toString('latin1').slice(0, 2000));
    const stack = cause instanceof Error ? cause.stack : String(cause);
    super(`${target}: seed ${seed}, input ${index}: ${stack}\n${text}`, { cause });
  }
}

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function alive(): number {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
}

/**
 * Feeds `inputs` inputs, or as many as `millis` allows, each made from the seed and its number.
 * Throws {@link FuzzFailure}.
 */
export async function fuzz(
  target: FuzzTarget,
  options: {
    readonly seed: number;
    readonly inputs: number;
    readonly millis?: number;
    readonly first?: number;
  },
): Promise<FuzzResult> {
  const { seed, inputs, millis = Number.POSITIVE_INFINITY, first = 0 } = options;
  const root = new SeededRandom(seed).fork(target.name);
  const outcomes = new Map<string, number>();
  const memory = target.memory === undefined ? alive : () => target.memory!();
  const begun = performance.now();
  const until = first + inputs;
  let index = first;
  let failure: FuzzFailure | null = null;
  let early = Number.NaN;
  const feed = async (): Promise<void> => {
    while (failure === null && index < until && performance.now() - begun < millis) {
      const own = index++;
      const input = target.make(new Mutator(root.fork(String(own))));
      let outcome: string;
      try {
        const result = target.check(input);
        outcome = typeof result === 'string' ? result : await result;
      } catch (error) {
        failure ??= new FuzzFailure(target.name, seed, own, input, error);
        return;
      }
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      if (
        Number.isNaN(early) &&
        (index - first >= inputs / 10 || performance.now() - begun > millis / 10)
      )
        early = memory();
    }
  };
  await Promise.all(Array.from({ length: target.parallel ?? 1 }, feed));
  if (failure !== null) throw failure;
  const late = memory();
  if (Number.isNaN(early)) early = late;
  const seconds = (performance.now() - begun) / 1000;
  return {
    name: target.name,
    inputs: index - first,
    seconds,
    outcomes,
    early,
    late,
    grown: late - early,
    note: target.note ?? '',
  };
}

/** Invariants are said this way, so that a failure names them. */
export function must(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Error(`invariant broken: ${what}`);
}

/** Every number in it is finite and none is -0, whatever was sent. */
export function mustBeFinite(value: unknown, where = ''): void {
  if (typeof value === 'number')
    must(Number.isFinite(value) && !Object.is(value, -0), `${where} is ${value}`);
  else if (typeof value === 'object' && value !== null)
    for (const [key, each] of Object.entries(value)) mustBeFinite(each, `${where}.${key}`);
}
