/**
 * FaaSRM's network 11-32-16-1 (tanh), forward only, over a grid of options: an option's CPU and
 * memory are its last two inputs, the other nine are the same for all. So the first layer is split:
 * the nine inputs are summed once, an amount of either resource once per amount.
 *
 * One page of memory, laid out here; scorer.ts writes weights and features and reads scores.
 */

const STATE: i32 = 9;
const HIDDEN: i32 = 32;
const NEXT: i32 = 16;
const LEVELS: i32 = 8;

/** Layer by layer: kernel [inputs][outputs] row-major, then bias; 929 floats. */
const WEIGHTS = memory.data(929 * 4, 16);
const B1: usize = 11 * 32;
const W2: usize = B1 + 32;
const B2: usize = W2 + 32 * 16;
const W3: usize = B2 + 16;
const B3: usize = W3 + 16;

const FEATURES = memory.data(STATE * 4, 16);
const CPU = memory.data(LEVELS * 4, 16);
const MEMORY = memory.data(LEVELS * 4, 16);
const SCORES = memory.data(LEVELS * LEVELS * 4, 16);

/**
 * Sums of the first layer: of the nine inputs, with one amount of CPU, of each amount of memory;
 * and its outputs for one option.
 */
const SHARED = memory.data(HIDDEN * 4, 16);
const WITH_CPU = memory.data(HIDDEN * 4, 16);
const OF_MEMORY = memory.data(LEVELS * HIDDEN * 4, 16);
const FIRST = memory.data(HIDDEN * 4, 16);

export function weights(): usize {
  return WEIGHTS;
}
export function features(): usize {
  return FEATURES;
}
export function cpu(): usize {
  return CPU;
}
export function memoryLevels(): usize {
  return MEMORY;
}
export function scores(): usize {
  return SCORES;
}

// tanh as x P(x^2) / Q(x^2), clamped: the fit of agents/nn/simd/assembly/math.ts, at most 6e-7 off
// in float32. The plug-in may not import agents. Without gradients a value above 1 does no harm.
const P0: f32 = 0.9999987384193221;
const P1: f32 = 0.1267255457792864;
const P2: f32 = 0.0026571463095789675;
const P3: f32 = 6.883334811333951e-6;
const P4: f32 = -5.6722720399204876e-9;
const Q1: f32 = 0.4600543834218603;
const Q2: f32 = 0.02267998961697737;
const Q3: f32 = 1.9182662127797272e-4;

// @ts-ignore: decorator
@inline
function tanh4(x: v128): v128 {
  const c = f32x4.min(f32x4.max(x, f32x4.splat(-8.3)), f32x4.splat(8.3));
  const z = f32x4.mul(c, c);
  let p = f32x4.splat(P4);
  p = f32x4.add(f32x4.mul(p, z), f32x4.splat(P3));
  p = f32x4.add(f32x4.mul(p, z), f32x4.splat(P2));
  p = f32x4.add(f32x4.mul(p, z), f32x4.splat(P1));
  p = f32x4.add(f32x4.mul(p, z), f32x4.splat(P0));
  let q = f32x4.splat(Q3);
  q = f32x4.add(f32x4.mul(q, z), f32x4.splat(Q2));
  q = f32x4.add(f32x4.mul(q, z), f32x4.splat(Q1));
  q = f32x4.add(f32x4.mul(q, z), f32x4.splat(1));
  return f32x4.div(f32x4.mul(c, p), q);
}

/** into = from + x row: 32 floats. */
function addScaled(into: usize, from: usize, x: f32, row: usize): void {
  const factor = f32x4.splat(x);
  for (let i: usize = 0; i < (<usize>HIDDEN) * 4; i += 16)
    v128.store(into + i, f32x4.add(v128.load(from + i), f32x4.mul(factor, v128.load(row + i))));
}

/** Row of the first layer's kernel. */
// @ts-ignore: decorator
@inline
function row(input: i32): usize {
  return WEIGHTS + (((<usize>input) * (<usize>HIDDEN)) << 2);
}

/** The rest of the network for the option whose first layer, before tanh, is a + b. */
function scoreOf(a: usize, b: usize): f32 {
  for (let i: usize = 0; i < (<usize>HIDDEN) * 4; i += 16)
    v128.store(FIRST + i, tanh4(f32x4.add(v128.load(a + i), v128.load(b + i))));
  let s0 = v128.load(WEIGHTS + (B2 << 2));
  let s1 = v128.load(WEIGHTS + (B2 << 2), 16);
  let s2 = v128.load(WEIGHTS + (B2 << 2), 32);
  let s3 = v128.load(WEIGHTS + (B2 << 2), 48);
  let kernel = WEIGHTS + (W2 << 2);
  for (let i: usize = 0; i < (<usize>HIDDEN) * 4; i += 4) {
    const h = v128.load32_splat(FIRST + i);
    s0 = f32x4.add(s0, f32x4.mul(h, v128.load(kernel)));
    s1 = f32x4.add(s1, f32x4.mul(h, v128.load(kernel, 16)));
    s2 = f32x4.add(s2, f32x4.mul(h, v128.load(kernel, 32)));
    s3 = f32x4.add(s3, f32x4.mul(h, v128.load(kernel, 48)));
    kernel += (<usize>NEXT) << 2;
  }
  const last = WEIGHTS + (W3 << 2);
  let y = f32x4.mul(tanh4(s0), v128.load(last));
  y = f32x4.add(y, f32x4.mul(tanh4(s1), v128.load(last, 16)));
  y = f32x4.add(y, f32x4.mul(tanh4(s2), v128.load(last, 32)));
  y = f32x4.add(y, f32x4.mul(tanh4(s3), v128.load(last, 48)));
  const sum =
    f32x4.extract_lane(y, 0) +
    f32x4.extract_lane(y, 1) +
    (f32x4.extract_lane(y, 2) + f32x4.extract_lane(y, 3));
  return sum + load<f32>(WEIGHTS + (B3 << 2));
}

/** Scores [cpu][memory] of `cpus` and `memories` amounts, at most 8 of each. */
export function score(cpus: i32, memories: i32): void {
  memory.copy(SHARED, WEIGHTS + (B1 << 2), (<usize>HIDDEN) << 2);
  for (let i = 0; i < STATE; i++)
    addScaled(SHARED, SHARED, load<f32>(FEATURES + ((<usize>i) << 2)), row(i));
  memory.fill(OF_MEMORY, 0, (<usize>(LEVELS * HIDDEN)) << 2);
  for (let m = 0; m < memories; m++) {
    const part = OF_MEMORY + ((<usize>(m * HIDDEN)) << 2);
    addScaled(part, part, load<f32>(MEMORY + ((<usize>m) << 2)), row(STATE + 1));
  }
  let to = SCORES;
  for (let c = 0; c < cpus; c++) {
    addScaled(WITH_CPU, SHARED, load<f32>(CPU + ((<usize>c) << 2)), row(STATE));
    for (let m = 0; m < memories; m++) {
      store<f32>(to, scoreOf(WITH_CPU, OF_MEMORY + ((<usize>(m * HIDDEN)) << 2)));
      to += 4;
    }
  }
}
