import { gemm, rowTimes } from './gemm';
import { tanh4 } from './math';

/** Rows that are worked on at once: activations of 64 rows of 64 units fit a first-level cache. */
export const CHUNK = 64;
/** Widest layer; agents/nn/simd/kernels.ts says the same. */
const WIDEST = 1024;
/** A row of zeros: where a product starts from nothing. */
const zeros = memory.data(WIDEST * 4, 16);

/**
 * A network in memory (agents/nn/simd/network.ts writes it). `parameters`, `gradients`, `first` and
 * `second` (Adam's moments) have one layout: per layer the kernel, inputs x padded outputs, then
 * the padded bias. Padding is zero and stays zero, as its gradient is zero.
 */
@unmanaged
export class Network {
  parameters: usize;
  gradients: usize;
  first: usize;
  second: usize;
  /** Floats of each of the four. */
  size: i32;
  /** 0 tanh, 1 relu; the last layer is linear. */
  activation: i32;
  layers: i32;
  /** Widths, layers + 1 of them, follow. */
}

const WIDTHS: usize = 28;

export function width(net: Network, layer: i32): i32 {
  return load<i32>(changetype<usize>(net) + WIDTHS + ((<usize>layer) << 2));
}

export function padded(width: i32): i32 {
  return (width + 3) & ~3;
}

export function outputStride(net: Network): usize {
  return (<usize>padded(width(net, net.layers))) << 2;
}

function activate(at: usize, floats: i32, activation: i32): void {
  const end = at + ((<usize>floats) << 2);
  if (activation == 0) {
    for (; at < end; at += 16) v128.store(at, tanh4(v128.load(at)));
  } else {
    const zero = f32x4.splat(0);
    for (; at < end; at += 16) v128.store(at, f32x4.max(v128.load(at), zero));
  }
}

/** One row. `scratch` holds two rows of the widest layer; returns where the outputs are. */
export function forwardOne(net: Network, x: usize, scratch: usize): usize {
  let at = net.parameters;
  let from = x;
  let to = scratch;
  for (let layer = 1; layer <= net.layers; layer++) {
    const inputs = width(net, layer - 1);
    const outputs = padded(width(net, layer));
    const stride = (<usize>outputs) << 2;
    const bias = at + (<usize>inputs) * stride;
    rowTimes(from, 4, at, stride, bias, to, inputs, outputs);
    if (layer < net.layers) activate(to, outputs, net.activation);
    at = bias + stride;
    from = to;
    to = to == scratch ? scratch + WIDEST * 4 : scratch;
  }
  return from;
}

/** At most CHUNK rows. Writes each layer's activations to `acts`; returns the outputs' address. */
export function forwardRows(net: Network, x: usize, rows: i32, acts: usize): usize {
  let at = net.parameters;
  let from = x;
  let fromStride = (<usize>width(net, 0)) << 2;
  let to = acts;
  for (let layer = 1; layer <= net.layers; layer++) {
    const inputs = width(net, layer - 1);
    const outputs = padded(width(net, layer));
    const stride = (<usize>outputs) << 2;
    const bias = at + (<usize>inputs) * stride;
    gemm(from, fromStride, 4, at, stride, bias, 0, to, stride, rows, inputs, outputs);
    if (layer < net.layers) activate(to, rows * outputs, net.activation);
    at = bias + stride;
    from = to;
    fromStride = stride;
    to += (<usize>rows) * stride;
  }
  return from;
}

/** Column sums of a gradient, added to the bias' gradient. */
function addColumns(from: usize, stride: usize, rows: i32, columns: i32, to: usize): void {
  for (let column = 0; column < columns; column += 4) {
    const offset = (<usize>column) << 2;
    let sum = v128.load(to + offset);
    let at = from + offset;
    for (let r = 0; r < rows; r++) {
      sum = f32x4.add(sum, v128.load(at));
      at += stride;
    }
    v128.store(to + offset, sum);
  }
}

/** [inputs][padded outputs] to [outputs][padded inputs]. */
function transpose(from: usize, inputs: i32, outputs: i32, to: usize): void {
  const fromStride = (<usize>padded(outputs)) << 2;
  const toStride = (<usize>padded(inputs)) << 2;
  for (let i = 0; i < inputs; i++) {
    let source = from + (<usize>i) * fromStride;
    let target = to + ((<usize>i) << 2);
    for (let o = 0; o < outputs; o++) {
      store<f32>(target, load<f32>(source));
      source += 4;
      target += toStride;
    }
  }
  for (let i = inputs; i < padded(inputs); i++) {
    for (let o = 0; o < outputs; o++) store<f32>(to + (<usize>o) * toStride + ((<usize>i) << 2), 0);
  }
}

/** delta *= activation'(h), from the activation itself: 1 - h^2, or h > 0. */
function throughActivation(delta: usize, h: usize, floats: i32, activation: i32): void {
  const end = delta + ((<usize>floats) << 2);
  const one = f32x4.splat(1);
  const zero = f32x4.splat(0);
  for (; delta < end; delta += 16) {
    const y = v128.load(h);
    const d = v128.load(delta);
    v128.store(
      delta,
      activation == 0
        ? f32x4.mul(d, f32x4.sub(one, f32x4.mul(y, y)))
        : v128.and(d, f32x4.gt(y, zero)),
    );
    h += 16;
  }
}

/**
 * Adds the gradient of the parameters for the rows of the last `forwardRows`. `delta` is dL/d
 * outputs, padded; `scratch` holds two blocks of CHUNK x widest and one kernel; `dx` gets dL/d
 * inputs, rows x padded inputs, unless it is 0.
 */
export function backwardRows(
  net: Network,
  x: usize,
  rows: i32,
  acts: usize,
  delta: usize,
  dx: usize,
  scratch: usize,
  widest: i32,
): void {
  const block = ((<usize>CHUNK) * (<usize>widest)) << 2;
  const turned = scratch + (block << 1);
  let at: usize = (<usize>net.size) << 2;
  let h = acts;
  for (let layer = 1; layer < net.layers; layer++)
    h += ((<usize>rows) * (<usize>padded(width(net, layer)))) << 2;
  let next = scratch;
  for (let layer = net.layers; layer >= 1; layer--) {
    const inputs = width(net, layer - 1);
    const outputs = padded(width(net, layer));
    const stride = (<usize>outputs) << 2;
    at -= (<usize>(inputs + 1)) * stride;
    const kernel = at;
    const bias = at + (<usize>inputs) * stride;
    const inputWidth = padded(inputs);
    let below = x;
    let belowStride = (<usize>inputs) << 2;
    if (layer > 1) {
      belowStride = (<usize>inputWidth) << 2;
      h -= (<usize>rows) * belowStride;
      below = h;
    }
    const gradient = net.gradients + kernel;
    gemm(below, 4, belowStride, delta, stride, gradient, stride,
      gradient, stride, inputs, rows, outputs);
    addColumns(delta, stride, rows, outputs, net.gradients + bias);
    if (layer == 1 && dx == 0) return;
    const to = layer == 1 ? dx : next;
    const toStride = (<usize>inputWidth) << 2;
    transpose(net.parameters + kernel, inputs, width(net, layer), turned);
    gemm(delta, stride, 4, turned, toStride, zeros, 0,
      to, toStride, rows, width(net, layer), inputWidth);
    if (layer > 1) throughActivation(to, below, rows * inputWidth, net.activation);
    delta = to;
    next = next == scratch ? scratch + block : scratch;
  }
}
