import { sum4 } from './math';

/** Sum of squares in double precision, in a fixed order. */
export function sumOfSquares(at: usize, floats: i32): f64 {
  let total: f64 = 0;
  const end = at + ((<usize>floats) << 2);
  while (at < end) {
    const stop = min(end, at + 1024);
    let sum = f32x4.splat(0);
    for (; at < stop; at += 16) {
      const g = v128.load(at);
      sum = f32x4.add(sum, f32x4.mul(g, g));
    }
    total += <f64>sum4(sum);
  }
  return total;
}

/**
 * Adam (Kingma, Ba 2015) with bias correction: p -= rate m' / (sqrt(v') + epsilon), where
 * m' = m / (1 - b1^t) and v' = v / (1 - b2^t). `scale` is the factor of the gradient clip;
 * `correct1` and `correct2` are the two divisors.
 */
export function adam(
  parameters: usize, gradients: usize, first: usize, second: usize, floats: i32,
  scale: f32, rate: f32, beta1: f32, beta2: f32, epsilon: f32, correct1: f32, correct2: f32,
): void {
  const s = f32x4.splat(scale);
  const b1 = f32x4.splat(beta1);
  const n1 = f32x4.splat(1 - beta1);
  const b2 = f32x4.splat(beta2);
  const n2 = f32x4.splat(1 - beta2);
  const r = f32x4.splat(rate / correct1);
  const c2 = f32x4.splat(1 / correct2);
  const e = f32x4.splat(epsilon);
  const bytes = (<usize>floats) << 2;
  for (let i: usize = 0; i < bytes; i += 16) {
    const g = f32x4.mul(v128.load(gradients + i), s);
    const m = f32x4.add(f32x4.mul(v128.load(first + i), b1), f32x4.mul(g, n1));
    const v = f32x4.add(f32x4.mul(v128.load(second + i), b2), f32x4.mul(f32x4.mul(g, g), n2));
    v128.store(first + i, m);
    v128.store(second + i, v);
    const step = f32x4.div(f32x4.mul(m, r), f32x4.add(f32x4.sqrt(f32x4.mul(v, c2)), e));
    v128.store(parameters + i, f32x4.sub(v128.load(parameters + i), step));
  }
}
