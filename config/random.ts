/** FNV-1a, 32 bits, of a label's code units; `seed` gives other hashes of the same labels. */
export function hashOf(label: string, seed = 0): number {
  let hash = 2166136261 ^ seed;
  for (let i = 0; i < label.length; i++) hash = Math.imul(hash ^ label.charCodeAt(i), 16777619);
  return hash >>> 0;
}

/** Randomness as an argument: one seed, one run. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** Uniform integer in [0, bound). */
  below(bound: number): number;
  /** The same label of the same parent gives the same stream, whatever was drawn before. */
  fork(label: string): Random;
}

/** sfc32 (Doty-Humphrey, PractRand), seeded through splitmix32: neighboring seeds are unrelated. */
export class SeededRandom implements Random {
  readonly #seed: number;
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: number) {
    this.#seed = seed >>> 0;
    let s = this.#seed;
    const mix = (): number => {
      s = (s + 0x9e3779b9) | 0;
      let t = s ^ (s >>> 16);
      t = Math.imul(t, 0x21f0aaad);
      t ^= t >>> 15;
      t = Math.imul(t, 0x735a2d97);
      return t ^ (t >>> 15);
    };
    this.#a = mix();
    this.#b = mix();
    this.#c = mix();
    for (let i = 0; i < 12; i++) this.#draw();
  }

  next(): number {
    return this.#draw() / 4294967296;
  }

  below(bound: number): number {
    return Math.floor(this.next() * bound);
  }

  fork(label: string): Random {
    return new SeededRandom(hashOf(label, this.#seed));
  }

  #draw(): number {
    const t = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (this.#c << 21) | (this.#c >>> 11);
    this.#c = (this.#c + t) | 0;
    return t >>> 0;
  }
}

/** A draw from the standard normal distribution (Box and Muller, 1958). */
export function standardNormal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
}
