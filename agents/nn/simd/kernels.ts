import { readFileSync } from 'node:fs';

/** As much of a `WebAssembly.Memory` as is used here. */
export interface Memory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}

/** Node has it, its types say nothing of it. */
declare const WebAssembly: {
  readonly Module: new (binary: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
};

/** What simd/assembly/kernels.ts exports. Numbers are addresses, unless named otherwise. */
export interface Kernels {
  readonly memory: Memory;
  /** Where free memory begins. */
  heapBase(): number;
  forward(network: number, x: number, y: number, scratch: number): void;
  forwardBatch(network: number, x: number, rows: number, y: number, activations: number): void;
  gradients(
    network: number,
    x: number,
    rows: number,
    deltas: number,
    dx: number,
    workspace: number,
    activationFloats: number,
    widest: number,
  ): void;
  ppoStep(job: number): number;
  sumOfSquares(at: number, floats: number): number;
  adam(
    parameters: number,
    gradients: number,
    first: number,
    second: number,
    floats: number,
    scale: number,
    learningRate: number,
    beta1: number,
    beta2: number,
    epsilon: number,
    correct1: number,
    correct2: number,
  ): void;
}

/** Rows that the kernels work on at once (CHUNK of assembly/network.ts). */
export const CHUNK = 64;
/** Widest layer that the kernels have room for (WIDEST of assembly/network.ts). */
export const WIDEST = 1024;

/** Throws where `npm run build` has put no kernels beside this file, or without SIMD. */
export function loadKernels(): Kernels {
  const binary = readFileSync(new URL('kernels.wasm', import.meta.url));
  return new WebAssembly.Instance(new WebAssembly.Module(binary)).exports as Kernels;
}
