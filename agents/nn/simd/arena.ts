import type { Kernels, Memory } from './kernels.js';

const PAGE = 65_536;
/** 1 GiB: 10,000 agents of 100 KB with their optimizers. */
const LARGEST_PAGES = 16_384;

/**
 * The kernels' memory in 16-byte aligned, zeroed blocks; freed ones are kept by size. Growing moves
 * the buffer, so views are never kept.
 */
export class Arena {
  readonly #memory: Memory;
  readonly #free = new Map<number, number[]>();
  #next: number;
  #f32: Float32Array;
  #i32: Int32Array;
  #u8: Uint8Array;
  #f64: Float64Array;

  constructor(kernels: Kernels) {
    this.#memory = kernels.memory;
    this.#next = align(kernels.heapBase());
    const { buffer } = this.#memory;
    this.#f32 = new Float32Array(buffer);
    this.#i32 = new Int32Array(buffer);
    this.#u8 = new Uint8Array(buffer);
    this.#f64 = new Float64Array(buffer);
  }

  get f32(): Float32Array {
    return this.#f32;
  }
  get i32(): Int32Array {
    return this.#i32;
  }
  get u8(): Uint8Array {
    return this.#u8;
  }
  get f64(): Float64Array {
    return this.#f64;
  }

  /** Bytes that were ever handed out: flat if nothing leaks. */
  get used(): number {
    return this.#next;
  }

  allocate(bytes: number): number {
    const size = align(bytes);
    const again = this.#free.get(size)?.pop();
    if (again !== undefined) {
      this.#u8.fill(0, again, again + size);
      return again;
    }
    const at = this.#next;
    const end = at + size;
    if (end > this.#memory.buffer.byteLength) this.#grow(end);
    this.#next = end;
    return at;
  }

  release(at: number, bytes: number): void {
    const size = align(bytes);
    const blocks = this.#free.get(size);
    if (blocks) blocks.push(at);
    else this.#free.set(size, [at]);
  }

  #grow(end: number): void {
    const have = this.#memory.buffer.byteLength / PAGE;
    const need = Math.ceil(end / PAGE);
    if (need > LARGEST_PAGES)
      throw new RangeError(
        `networks need ${need} pages of memory, at most ${LARGEST_PAGES} are allowed`,
      );
    this.#memory.grow(Math.min(Math.max(need, have * 2), LARGEST_PAGES) - have);
    const { buffer } = this.#memory;
    this.#f32 = new Float32Array(buffer);
    this.#i32 = new Int32Array(buffer);
    this.#u8 = new Uint8Array(buffer);
    this.#f64 = new Float64Array(buffer);
  }
}

const align = (bytes: number): number => (bytes + 15) & ~15;
