import type { Random } from '../../config/index.js';

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** What has broken parsers before, as JSON text: several of these no JSON.stringify would write. */
const LITERALS = [
  'null',
  '-0',
  '1e309',
  '-1e309',
  '1e-320',
  '9007199254740993',
  '-1',
  '0.1',
  '[]',
  '{}',
  '""',
  '"NaN"',
  '"0.5"',
  'true',
];
const TEXTS = [
  '',
  ' ',
  '\u0000',
  '../../etc',
  '__proto__',
  'constructor',
  '/guest/x',
  'é'.repeat(40),
  'x'.repeat(300),
  '9'.repeat(40),
  '\ud800',
];
const NUMBERS = [
  0,
  -0,
  1,
  -1,
  0.5,
  255,
  256,
  65_535,
  2 ** 31,
  2 ** 32,
  2 ** 53,
  2 ** 62,
  1e21,
  1e300,
  5e-324,
  1e-9,
];

/**
 * Seeded changes of valid inputs: to values and keys where the structure is known, to bytes where
 * it is not.
 */
export class Mutator {
  readonly random: Random;

  constructor(random: Random) {
    this.random = random;
  }

  chance(probability: number): boolean {
    return this.random.next() < probability;
  }

  pick<T>(from: readonly T[]): T {
    return from[this.random.below(from.length)]!;
  }

  number(): number {
    return this.chance(0.5)
      ? this.pick(NUMBERS)
      : (this.random.next() - 0.3) * 10 ** this.random.below(16);
  }

  /** A copy in which a few places hold something else; null is one of the things. */
  json(value: Json, changes = 1 + this.random.below(3)): Json {
    let changed = structuredClone(value);
    for (let i = 0; i < changes; i++) changed = this.#change(changed);
    return changed;
  }

  /**
   * JSON text of a value, in which some literals are such as only another writer would produce, or
   * whose bytes are damaged.
   */
  jsonBytes(value: Json): Uint8Array {
    let text = JSON.stringify(value);
    if (this.chance(0.15)) text = text.replace(/-?\d+(\.\d+)?/, () => this.pick(LITERALS));
    if (this.chance(0.05)) text = text.replace('{', '{"v":1,"__proto__":{"v":2},');
    if (this.chance(0.02)) text = '['.repeat(2000) + text;
    const bytes = Buffer.from(text);
    return this.chance(0.15) ? this.bytes(bytes) : bytes;
  }

  /** A few bytes changed, put in, taken away, doubled or cut off. */
  bytes(bytes: Uint8Array, changes = 1 + this.random.below(4)): Uint8Array {
    let changed: Uint8Array = Uint8Array.from(bytes);
    for (let i = 0; i < changes && changed.length > 0; i++) {
      const at = this.random.below(changed.length);
      const until = Math.min(changed.length, at + 1 + this.random.below(16));
      switch (this.random.below(5)) {
        case 0:
          changed[at]! ^= 1 << this.random.below(8);
          break;
        case 1:
          changed[at] = this.random.below(256);
          break;
        case 2:
          changed = joined(changed.subarray(0, at), changed.subarray(until));
          break;
        case 3:
          changed = joined(changed.subarray(0, until), changed.subarray(at));
          break;
        default:
          if (this.chance(0.3)) changed = changed.slice(0, at);
          else
            changed = joined(
              changed.subarray(0, at),
              Buffer.from(this.pick(TEXTS)),
              changed.subarray(at),
            );
      }
    }
    return changed;
  }

  /**
   * Lines and the words in them put elsewhere, doubled, taken away or replaced by one of `words`;
   * some bytes damaged after all.
   */
  text(text: string, words: readonly string[]): string {
    const lines = text.split('\n');
    for (let i = 1 + this.random.below(4); i > 0 && lines.length > 0; i--) {
      const at = this.random.below(lines.length);
      switch (this.random.below(5)) {
        case 0:
          lines.splice(at, 1);
          break;
        case 1:
          lines.splice(this.random.below(lines.length + 1), 0, lines[at]!);
          break;
        case 2:
          lines[at] = `${' '.repeat(this.random.below(5))}${lines[at]!.trimStart()}`;
          break;
        default:
          lines[at] = this.#word(lines[at]!, words);
      }
    }
    const changed = lines.join(this.chance(0.05) ? '\r\n' : '\n');
    return this.chance(0.15)
      ? Buffer.from(this.bytes(Buffer.from(changed), 2)).toString('latin1')
      : changed;
  }

  #word(line: string, words: readonly string[]): string {
    const found = [...line.matchAll(/[^,:\s]+/g)];
    if (found.length === 0) return this.pick(words);
    const { index, 0: word } = this.pick(found);
    const other = this.chance(0.3) ? String(this.number()) : this.pick(words);
    return line.slice(0, index) + other + line.slice(index + word.length);
  }

  #change(value: Json): Json {
    if (Array.isArray(value) && value.length > 0 && this.chance(0.85)) {
      const at = this.random.below(value.length);
      const what = this.random.next();
      if (what < 0.15) value.splice(at, 1);
      else if (what < 0.3 && value.length < 1000) value.push(...structuredClone(value));
      else value[at] = this.#change(value[at]!);
      return value;
    }
    if (typeof value === 'object' && value !== null && !Array.isArray(value) && this.chance(0.92)) {
      const key = this.pick([...Object.keys(value), 'unknown']);
      if (this.chance(0.12)) delete value[key];
      else value[key] = this.#change(value[key] ?? null);
      return value;
    }
    if (typeof value === 'number' && this.chance(0.7)) return this.number();
    if (typeof value === 'string' && this.chance(0.6))
      return this.chance(0.5)
        ? this.pick(TEXTS)
        : Buffer.from(this.bytes(Buffer.from(value), 1)).toString('utf8');
    return this.pick<() => Json>([
      () => null,
      () => this.number(),
      () => this.pick(TEXTS),
      () => [],
      () => ({}),
      () => this.chance(0.5),
      () => [structuredClone(value)],
    ])();
  }
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(Buffer.concat(parts));
}
