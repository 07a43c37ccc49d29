/** Maps values to pixels, and says where to draw lines. */
export interface Scale {
  readonly at: (value: number) => number;
  readonly ticks: readonly number[];
}

/** Linear from `low` to `high` over `from` to `to` pixels; ticks at 1, 2 or 5 x 10^k. */
export function linearScale(low: number, high: number, from: number, to: number): Scale {
  const top = high > low ? high : low + 1;
  const step = niceStep((top - low) / 5);
  const ticks: number[] = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= top + step * 1e-9; k++)
    ticks.push(Number((k * step).toPrecision(12)));
  return {
    at: (value) => from + ((clamp(value, low, top) - low) / (top - low)) * (to - from),
    ticks,
  };
}

/** Logarithmic; ticks at 1, 2 and 5 of each decade while they are few, else at decades. */
export function logScale(low: number, high: number, from: number, to: number): Scale {
  const top = high > low ? high : low * 10;
  const span = Math.log(top / low);
  const decades = span / Math.LN10;
  const marks = decades > 3.5 ? [1] : decades > 1.2 ? [1, 2, 5] : [1, 1.2, 1.5, 2, 3, 4, 5, 7];
  const ticks: number[] = [];
  for (let k = Math.floor(Math.log10(low)) - 1; k <= Math.ceil(Math.log10(top)); k++) {
    for (const mark of marks) {
      const tick = Number((mark * 10 ** k).toPrecision(12));
      if (tick >= low * (1 - 1e-9) && tick <= top * (1 + 1e-9)) ticks.push(tick);
    }
  }
  return {
    at: (value) => from + (Math.log(clamp(value, low, top) / low) / span) * (to - from),
    ticks,
  };
}

export function niceStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((one) => one * power >= rough * (1 - 1e-9)) ?? 10;
  return step * power;
}

const clamp = (value: number, low: number, high: number): number =>
  Math.min(high, Math.max(low, value));
