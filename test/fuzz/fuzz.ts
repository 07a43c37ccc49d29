import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { SeededRandom } from '../../config/index.js';
import { Mutator } from './mutator.js';

/** One edge of Gleaner, and what may never happen there. */
export interface FuzzTarget {
  readonly name: string;
  /** The next input: a valid one, changed. */
  make(mutator: Mutator): Uint8Array;
  /** Feeds it; throws where an invariant does not hold. Returns what became of it, `accepted` or the kind of refusal. */
  check(input: Uint8Array): string | Promise<string>;
}

export interface FuzzResult {
  readonly name: string;
  readonly inputs: number;
  readonly seconds: number;
  readonly outcomes: ReadonlyMap<string, number>;
  /** Alive after a full collection, end against the first tenth, MiB. */
  readonly grown: number;
}

/** An input that broke something: enough to make a test of it. */
export class FuzzFailure extends Error {
  constructor(target: string, seed: number, index: number, input: Uint8Array, cause: unknown) {
    const text = JSON.stringify(Buffer.from(input).toString('latin1').slice(0, 2000));
    super(`${target}: seed ${seed}, input ${index}: ${cause instanceof Error ? cause.stack : String(cause)}\n${text}`, {
      cause,
    });
  }
}

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function alive(): number {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
}

/** So many inputs, or as many as the time allows. Each is made from the seed and its number alone. Throws {@link FuzzFailure}. */
export async function fuzz(
  target: FuzzTarget,
  options: { readonly seed: number; readonly inputs: number; readonly millis?: number; readonly first?: number },
): Promise<FuzzResult> {
  const { seed, inputs, millis = Number.POSITIVE_INFINITY, first = 0 } = options;
  const root = new SeededRandom(seed).fork(target.name);
  const outcomes = new Map<string, number>();
  const begun = performance.now();
  let index = first;
  let early = Number.NaN;
  for (; index < first + inputs && performance.now() - begun < millis; index++) {
    const input = target.make(new Mutator(root.fork(String(index))));
    let outcome: string;
    try {
      const result = target.check(input);
      outcome = typeof result === 'string' ? result : await result;
    } catch (error) {
      throw new FuzzFailure(target.name, seed, index, input, error);
    }
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    if (Number.isNaN(early) && (index - first >= inputs / 10 || performance.now() - begun > millis / 10))
      early = alive();
  }
  const grown = Number.isNaN(early) ? 0 : alive() - early;
  return { name: target.name, inputs: index - first, seconds: (performance.now() - begun) / 1000, outcomes, grown };
}

/** Invariants are said this way, so that a failure names them. */
export function must(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Error(`invariant broken: ${what}`);
}

/** Every number in it is finite and none is -0, whatever was sent. */
export function mustBeFinite(value: unknown, where = ''): void {
  if (typeof value === 'number') must(Number.isFinite(value) && !Object.is(value, -0), `${where} is ${value}`);
  else if (typeof value === 'object' && value !== null)
    for (const [key, each] of Object.entries(value)) mustBeFinite(each, `${where}.${key}`);
}
