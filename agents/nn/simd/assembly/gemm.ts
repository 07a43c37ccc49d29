/**
 * C[r][c] = init[r][c] + sum over k of A[r][k] B[k][c], on tiles that stay in registers. All
 * strides are in bytes, so one kernel computes three products: forward (A = activations), gradient
 * of the kernel (A read transposed), gradient of the input (B = the kernel transposed). `cols` is a
 * multiple of 4; A needs no padding, as it is read one number at a time.
 */
export function gemm(
  a: usize, aRow: usize, aK: usize,
  b: usize, bK: usize,
  init: usize, initRow: usize,
  c: usize, cRow: usize,
  rows: i32, depth: i32, cols: i32,
): void {
  let r = 0;
  for (; r + 4 <= rows; r += 4) {
    let col = 0;
    for (; col + 8 <= cols; col += 8) {
      const at = (<usize>col) << 2;
      tile4x8(a, aRow, aK, b + at, bK, init + at, initRow, c + at, cRow, depth);
    }
    if (col < cols) {
      const at = (<usize>col) << 2;
      tile4x4(a, aRow, aK, b + at, bK, init + at, initRow, c + at, cRow, depth);
    }
    a += aRow << 2;
    init += initRow << 2;
    c += cRow << 2;
  }
  for (; r < rows; r++) {
    rowTimes(a, aK, b, bK, init, c, depth, cols);
    a += aRow;
    init += initRow;
    c += cRow;
  }
}

/** Four rows and eight columns: eight accumulators, enough to hide the latency of an addition. */
function tile4x8(
  a: usize, aRow: usize, aK: usize,
  b: usize, bK: usize,
  init: usize, initRow: usize,
  c: usize, cRow: usize,
  depth: i32,
): void {
  const i1 = init + initRow;
  const i2 = i1 + initRow;
  const i3 = i2 + initRow;
  let c00 = v128.load(init);
  let c01 = v128.load(init, 16);
  let c10 = v128.load(i1);
  let c11 = v128.load(i1, 16);
  let c20 = v128.load(i2);
  let c21 = v128.load(i2, 16);
  let c30 = v128.load(i3);
  let c31 = v128.load(i3, 16);
  let a0 = a;
  let a1 = a0 + aRow;
  let a2 = a1 + aRow;
  let a3 = a2 + aRow;
  for (let k = 0; k < depth; k++) {
    const b0 = v128.load(b);
    const b1 = v128.load(b, 16);
    let x = v128.load32_splat(a0);
    c00 = f32x4.add(c00, f32x4.mul(x, b0));
    c01 = f32x4.add(c01, f32x4.mul(x, b1));
    x = v128.load32_splat(a1);
    c10 = f32x4.add(c10, f32x4.mul(x, b0));
    c11 = f32x4.add(c11, f32x4.mul(x, b1));
    x = v128.load32_splat(a2);
    c20 = f32x4.add(c20, f32x4.mul(x, b0));
    c21 = f32x4.add(c21, f32x4.mul(x, b1));
    x = v128.load32_splat(a3);
    c30 = f32x4.add(c30, f32x4.mul(x, b0));
    c31 = f32x4.add(c31, f32x4.mul(x, b1));
    a0 += aK;
    a1 += aK;
    a2 += aK;
    a3 += aK;
    b += bK;
  }
  v128.store(c, c00);
  v128.store(c, c01, 16);
  const o1 = c + cRow;
  v128.store(o1, c10);
  v128.store(o1, c11, 16);
  const o2 = o1 + cRow;
  v128.store(o2, c20);
  v128.store(o2, c21, 16);
  const o3 = o2 + cRow;
  v128.store(o3, c30);
  v128.store(o3, c31, 16);
}

function tile4x4(
  a: usize, aRow: usize, aK: usize,
  b: usize, bK: usize,
  init: usize, initRow: usize,
  c: usize, cRow: usize,
  depth: i32,
): void {
  let c0 = v128.load(init);
  let c1 = v128.load(init + initRow);
  let c2 = v128.load(init + (initRow << 1));
  let c3 = v128.load(init + initRow * 3);
  let a0 = a;
  let a1 = a0 + aRow;
  let a2 = a1 + aRow;
  let a3 = a2 + aRow;
  for (let k = 0; k < depth; k++) {
    const b0 = v128.load(b);
    c0 = f32x4.add(c0, f32x4.mul(v128.load32_splat(a0), b0));
    c1 = f32x4.add(c1, f32x4.mul(v128.load32_splat(a1), b0));
    c2 = f32x4.add(c2, f32x4.mul(v128.load32_splat(a2), b0));
    c3 = f32x4.add(c3, f32x4.mul(v128.load32_splat(a3), b0));
    a0 += aK;
    a1 += aK;
    a2 += aK;
    a3 += aK;
    b += bK;
  }
  v128.store(c, c0);
  v128.store(c + cRow, c1);
  v128.store(c + (cRow << 1), c2);
  v128.store(c + cRow * 3, c3);
}

/** One row times B, for decisions: 32 columns at a time, so that eight sums run in parallel. */
export function rowTimes(
  a: usize, aK: usize,
  b: usize, bK: usize,
  init: usize, c: usize,
  depth: i32, cols: i32,
): void {
  let col = 0;
  for (; col + 32 <= cols; col += 32) {
    const at = (<usize>col) << 2;
    row32(a, aK, b + at, bK, init + at, c + at, depth);
  }
  for (; col + 16 <= cols; col += 16) {
    const at = (<usize>col) << 2;
    row16(a, aK, b + at, bK, init + at, c + at, depth);
  }
  if (col + 12 <= cols) {
    const at = (<usize>col) << 2;
    row12(a, aK, b + at, bK, init + at, c + at, depth);
    col += 12;
  }
  for (; col < cols; col += 4) {
    const at = (<usize>col) << 2;
    row4(a, aK, b + at, bK, init + at, c + at, depth);
  }
}

function row32(a: usize, aK: usize, b: usize, bK: usize, init: usize, c: usize, depth: i32): void {
  let c0 = v128.load(init);
  let c1 = v128.load(init, 16);
  let c2 = v128.load(init, 32);
  let c3 = v128.load(init, 48);
  let c4 = v128.load(init, 64);
  let c5 = v128.load(init, 80);
  let c6 = v128.load(init, 96);
  let c7 = v128.load(init, 112);
  for (let k = 0; k < depth; k++) {
    const x = v128.load32_splat(a);
    c0 = f32x4.add(c0, f32x4.mul(x, v128.load(b)));
    c1 = f32x4.add(c1, f32x4.mul(x, v128.load(b, 16)));
    c2 = f32x4.add(c2, f32x4.mul(x, v128.load(b, 32)));
    c3 = f32x4.add(c3, f32x4.mul(x, v128.load(b, 48)));
    c4 = f32x4.add(c4, f32x4.mul(x, v128.load(b, 64)));
    c5 = f32x4.add(c5, f32x4.mul(x, v128.load(b, 80)));
    c6 = f32x4.add(c6, f32x4.mul(x, v128.load(b, 96)));
    c7 = f32x4.add(c7, f32x4.mul(x, v128.load(b, 112)));
    a += aK;
    b += bK;
  }
  v128.store(c, c0);
  v128.store(c, c1, 16);
  v128.store(c, c2, 32);
  v128.store(c, c3, 48);
  v128.store(c, c4, 64);
  v128.store(c, c5, 80);
  v128.store(c, c6, 96);
  v128.store(c, c7, 112);
}

/** Sixteen columns, odd and even k apart: eight sums again. */
function row16(a: usize, aK: usize, b: usize, bK: usize, init: usize, c: usize, depth: i32): void {
  const zero = f32x4.splat(0);
  let c0 = v128.load(init);
  let c1 = v128.load(init, 16);
  let c2 = v128.load(init, 32);
  let c3 = v128.load(init, 48);
  let d0 = zero;
  let d1 = zero;
  let d2 = zero;
  let d3 = zero;
  let k = 0;
  for (; k + 2 <= depth; k += 2) {
    let x = v128.load32_splat(a);
    c0 = f32x4.add(c0, f32x4.mul(x, v128.load(b)));
    c1 = f32x4.add(c1, f32x4.mul(x, v128.load(b, 16)));
    c2 = f32x4.add(c2, f32x4.mul(x, v128.load(b, 32)));
    c3 = f32x4.add(c3, f32x4.mul(x, v128.load(b, 48)));
    x = v128.load32_splat(a + aK);
    const odd = b + bK;
    d0 = f32x4.add(d0, f32x4.mul(x, v128.load(odd)));
    d1 = f32x4.add(d1, f32x4.mul(x, v128.load(odd, 16)));
    d2 = f32x4.add(d2, f32x4.mul(x, v128.load(odd, 32)));
    d3 = f32x4.add(d3, f32x4.mul(x, v128.load(odd, 48)));
    a += aK << 1;
    b += bK << 1;
  }
  if (k < depth) {
    const x = v128.load32_splat(a);
    c0 = f32x4.add(c0, f32x4.mul(x, v128.load(b)));
    c1 = f32x4.add(c1, f32x4.mul(x, v128.load(b, 16)));
    c2 = f32x4.add(c2, f32x4.mul(x, v128.load(b, 32)));
    c3 = f32x4.add(c3, f32x4.mul(x, v128.load(b, 48)));
  }
  v128.store(c, f32x4.add(c0, d0));
  v128.store(c, f32x4.add(c1, d1), 16);
  v128.store(c, f32x4.add(c2, d2), 32);
  v128.store(c, f32x4.add(c3, d3), 48);
}

/** Twelve columns (the ten actions, padded). */
function row12(a: usize, aK: usize, b: usize, bK: usize, init: usize, c: usize, depth: i32): void {
  const zero = f32x4.splat(0);
  let c0 = v128.load(init);
  let c1 = v128.load(init, 16);
  let c2 = v128.load(init, 32);
  let d0 = zero;
  let d1 = zero;
  let d2 = zero;
  let k = 0;
  for (; k + 2 <= depth; k += 2) {
    let x = v128.load32_splat(a);
    c0 = f32x4.add(c0, f32x4.mul(x, v128.load(b)));
    c1 = f32x4.add(c1, f32x4.mul(x, v128.load(b, 16)));
    c2 = f32x4.add(c2, f32x4.mul(x, v128.load(b, 32)));
    x = v128.load32_splat(a + aK);
    const odd = b + bK;
    d0 = f32x4.add(d0, f32x4.mul(x, v128.load(odd)));
    d1 = f32x4.add(d1, f32x4.mul(x, v128.load(odd, 16)));
    d2 = f32x4.add(d2, f32x4.mul(x, v128.load(odd, 32)));
    a += aK << 1;
    b += bK << 1;
  }
  if (k < depth) {
    const x = v128.load32_splat(a);
    c0 = f32x4.add(c0, f32x4.mul(x, v128.load(b)));
    c1 = f32x4.add(c1, f32x4.mul(x, v128.load(b, 16)));
    c2 = f32x4.add(c2, f32x4.mul(x, v128.load(b, 32)));
  }
  v128.store(c, f32x4.add(c0, d0));
  v128.store(c, f32x4.add(c1, d1), 16);
  v128.store(c, f32x4.add(c2, d2), 32);
}

/** Four columns, four sums by k modulo 4. */
function row4(a: usize, aK: usize, b: usize, bK: usize, init: usize, c: usize, depth: i32): void {
  let c0 = v128.load(init);
  let c1 = f32x4.splat(0);
  let c2 = f32x4.splat(0);
  let c3 = f32x4.splat(0);
  let k = 0;
  for (; k + 4 <= depth; k += 4) {
    c0 = f32x4.add(c0, f32x4.mul(v128.load32_splat(a), v128.load(b)));
    c1 = f32x4.add(c1, f32x4.mul(v128.load32_splat(a + aK), v128.load(b + bK)));
    c2 = f32x4.add(c2, f32x4.mul(v128.load32_splat(a + (aK << 1)), v128.load(b + (bK << 1))));
    c3 = f32x4.add(c3, f32x4.mul(v128.load32_splat(a + aK * 3), v128.load(b + bK * 3)));
    a += aK << 2;
    b += bK << 2;
  }
  for (; k < depth; k++) {
    c0 = f32x4.add(c0, f32x4.mul(v128.load32_splat(a), v128.load(b)));
    a += aK;
    b += bK;
  }
  v128.store(c, f32x4.add(f32x4.add(c0, c1), f32x4.add(c2, c3)));
}
