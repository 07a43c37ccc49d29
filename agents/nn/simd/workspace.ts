import type { NetworkShape } from '../shape.js';
import type { Arena } from './arena.js';
import { CHUNK, type Kernels, WIDEST } from './kernels.js';

export const padded = (width: number): number => (width + 3) & ~3;

/** Floats of the activations of one chunk of rows, and the widest padded layer. */
export function extent(shape: NetworkShape): { activations: number; widest: number } {
  const widths = shape.widths.map(padded);
  return {
    activations: CHUNK * widths.slice(1).reduce((sum, width) => sum + width, 0),
    widest: Math.max(...widths),
  };
}

/** A block that grows to the largest size asked for and is then used again and again. */
class Pad {
  readonly #arena: Arena;
  #at = 0;
  #bytes = 0;

  constructor(arena: Arena) {
    this.#arena = arena;
  }

  /** Where `bytes` may be written; what was there before is gone. */
  reserve(bytes: number): number {
    if (bytes > this.#bytes) {
      if (this.#bytes > 0) this.#arena.release(this.#at, this.#bytes);
      this.#bytes = 1 << Math.ceil(Math.log2(Math.max(bytes, 1024)));
      this.#at = this.#arena.allocate(this.#bytes);
    }
    return this.#at;
  }
}

/** What all networks of one engine use in turn, as calls are synchronous. */
export class Workspace {
  readonly kernels: Kernels;
  readonly arena: Arena;
  /** One row in, one row out, two rows of scratch. */
  readonly input: number;
  readonly output: number;
  readonly scratch: number;
  readonly #work: Pad;
  readonly #staging: Pad;
  readonly #gradients: [Pad, Pad];

  constructor(kernels: Kernels, arena: Arena) {
    this.kernels = kernels;
    this.arena = arena;
    this.input = arena.allocate(WIDEST * 4);
    this.output = arena.allocate(WIDEST * 4);
    this.scratch = arena.allocate(2 * WIDEST * 4);
    this.#work = new Pad(arena);
    this.#staging = new Pad(arena);
    this.#gradients = [new Pad(arena), new Pad(arena)];
  }

  /** Activations, two blocks of deltas and a turned kernel (assembly/network.ts, backwardRows). */
  work(activations: number, widest: number): number {
    return this.#work.reserve(4 * (activations + 2 * CHUNK * widest + widest * widest));
  }

  /** Room for a batch's inputs, outputs and gradients. */
  staging(bytes: number): number {
    return this.#staging.reserve(bytes);
  }

  /** Room for one network's gradient; a second one for the critic, as both are clipped together. */
  gradients(which: 0 | 1, floats: number): number {
    return this.#gradients[which].reserve(4 * floats);
  }
}
