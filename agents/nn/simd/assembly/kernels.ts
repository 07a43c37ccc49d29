/** The exports that agents/nn/simd calls. TypeScript owns the memory (arena.ts). */
import { backwardRows, CHUNK, forwardOne, forwardRows } from './network';
import { Network, outputStride, padded, width } from './network';

export { adam, sumOfSquares } from './adam';
export { ppoStep } from './ppo';

export function heapBase(): usize {
  return __heap_base;
}

/** One row in, `width` floats out. */
export function forward(net: Network, x: usize, y: usize, scratch: usize): void {
  const from = forwardOne(net, x, scratch);
  memory.copy(y, from, (<usize>width(net, net.layers)) << 2);
}

/** Any number of rows; outputs unpadded. */
export function forwardBatch(net: Network, x: usize, rows: i32, y: usize, acts: usize): void {
  const inputs = (<usize>width(net, 0)) << 2;
  const outputs = (<usize>width(net, net.layers)) << 2;
  const stride = outputStride(net);
  for (let from = 0; from < rows; from += CHUNK) {
    const count = min(CHUNK, rows - from);
    const result = forwardRows(net, x + (<usize>from) * inputs, count, acts);
    for (let r = 0; r < count; r++) {
      const row = y + (<usize>(from + r)) * outputs;
      memory.copy(row, result + (<usize>r) * stride, outputs);
    }
  }
}

/**
 * The gradient for given dL/d outputs (rows x padded outputs), in the network's `gradients`; dL/d
 * inputs into `dx` unless 0.
 */
export function gradients(
  net: Network,
  x: usize,
  rows: i32,
  deltas: usize,
  dx: usize,
  workspace: usize,
  activations: i32,
  widest: i32,
): void {
  memory.fill(net.gradients, 0, (<usize>net.size) << 2);
  const scratch = workspace + ((<usize>activations) << 2);
  const inputs = (<usize>width(net, 0)) << 2;
  const padInputs = (<usize>padded(width(net, 0))) << 2;
  const stride = outputStride(net);
  for (let from = 0; from < rows; from += CHUNK) {
    const count = min(CHUNK, rows - from);
    const start = <usize>from;
    forwardRows(net, x + start * inputs, count, workspace);
    backwardRows(
      net, x + start * inputs, count, workspace, deltas + start * stride,
      dx == 0 ? 0 : dx + start * padInputs, scratch, widest,
    );
  }
}
