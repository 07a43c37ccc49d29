/** Elementary functions on four lanes, with their errors (test/agents/nn/engines.test.ts). */

const P0: f32 = 0.9999987384193221;
const P1: f32 = 0.1267255457792864;
const P2: f32 = 0.0026571463095789675;
const P3: f32 = 6.883334811333951e-6;
const P4: f32 = -5.6722720399204876e-9;
const Q1: f32 = 0.4600543834218603;
const Q2: f32 = 0.02267998961697737;
const Q3: f32 = 1.9182662127797272e-4;


/**
 * tanh as x P(x^2) / Q(x^2), clamped to |x| <= 8.3. The coefficients are a least-squares fit on
 * [0, 8.3] of degrees 4 and 3 in x^2, reweighted until the error is level: 2.6e-7 in exact
 * arithmetic, at most 6e-7 in float32.
 */
export function tanh4(x: v128): v128 {
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
  const y = f32x4.div(f32x4.mul(c, p), q);
  // Rounding may leave it a bit above 1, and 1 - y^2 must not be negative.
  return f32x4.min(f32x4.max(y, f32x4.splat(-1)), f32x4.splat(1));
}

/**
 * e^x as 2^k e^r with |r| <= ln 2 / 2 and a Taylor polynomial of degree 7 (next term r^8 / 8! <
 * 6e-9): relative error below 2e-7. It is 0 below -87 and e^87 above 87, so never infinite.
 */
export function exp4(x: v128): v128 {
  const c = f32x4.min(f32x4.max(x, f32x4.splat(-87)), f32x4.splat(87));
  const k = f32x4.nearest(f32x4.mul(c, f32x4.splat(1.4426950408889634)));
  // ln 2 in two parts, so that k ln 2 is exact in the first.
  let r = f32x4.sub(c, f32x4.mul(k, f32x4.splat(0.693359375)));
  r = f32x4.add(r, f32x4.mul(k, f32x4.splat(2.1219444005e-4)));
  let p = f32x4.splat(1.0 / 5040.0);
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(1.0 / 720.0));
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(1.0 / 120.0));
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(1.0 / 24.0));
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(1.0 / 6.0));
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(0.5));
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(1));
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(1));
  // 2^k by the exponent bits.
  const power = i32x4.shl(i32x4.add(i32x4.trunc_sat_f32x4_s(k), i32x4.splat(127)), 23);
  return v128.and(f32x4.mul(p, power), f32x4.ge(x, f32x4.splat(-87)));
}

export function exp1(x: f32): f32 {
  return f32x4.extract_lane(exp4(f32x4.splat(x)), 0);
}

export function sum4(x: v128): f32 {
  return (
    f32x4.extract_lane(x, 0) +
    f32x4.extract_lane(x, 1) +
    (f32x4.extract_lane(x, 2) + f32x4.extract_lane(x, 3))
  );
}

export function max4(x: v128): f32 {
  return max(
    max(f32x4.extract_lane(x, 0), f32x4.extract_lane(x, 1)),
    max(f32x4.extract_lane(x, 2), f32x4.extract_lane(x, 3)),
  );
}
