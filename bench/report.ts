/**
 * One figure of a benchmark: `ratio` = value / baseline where a baseline was measured in the same
 * run, else null.
 */
export interface BenchRow {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly baseline: number | null;
  readonly ratio: number | null;
  /** Required value, for people; not part of the JSON. */
  readonly goal?: string;
  readonly note?: string;
  /** The bench ends with exit code 1. */
  readonly failed?: boolean;
  /** If it does not hold, the other figures measure something else. */
  readonly precondition?: { readonly holds: boolean; readonly why: string };
}

export function row(
  name: string,
  value: number,
  unit: string,
  extra: { baseline?: number; goal?: string; note?: string; failed?: boolean } = {},
): BenchRow {
  const { baseline, ...rest } = extra;
  return {
    name,
    value,
    unit,
    baseline: baseline ?? null,
    ratio: baseline ? value / baseline : null,
    ...rest,
  };
}

/**
 * A precondition of a bench: a latency bench that should change a limit per activation measures
 * nothing if it changed none. If it does not hold, the bench reports it and ends with exit code 1.
 *
 * @param needs in words, such as `2 an activation`
 * @param why what the figures mean if it does not hold
 */
export function precondition(
  name: string,
  measured: number,
  unit: string,
  { holds, needs, why }: { readonly holds: boolean; readonly needs: string; readonly why: string },
): BenchRow {
  return {
    ...row(name, measured, unit, {
      goal: needs,
      note: holds ? 'precondition' : `PRECONDITION DOES NOT HOLD: ${why}`,
    }),
    failed: !holds,
    precondition: { holds, why },
  };
}

/** A precondition: at least this many. */
export const atLeast = (
  name: string,
  measured: number,
  least: number,
  unit: string,
  why: string,
): BenchRow =>
  precondition(name, measured, unit, { holds: measured >= least, needs: `>= ${least}`, why });

/** A precondition: within this share of the requested value. */
export const within = (
  name: string,
  measured: number,
  asked: number,
  share: number,
  unit: string,
  why: string,
): BenchRow =>
  precondition(name, measured, unit, {
    holds: Math.abs(measured - asked) <= share * asked,
    needs: `${asked} ± ${share * 100} %`,
    why,
  });

/** A precondition: zero. */
export const none = (name: string, measured: number, unit: string, why: string): BenchRow =>
  precondition(name, measured, unit, { holds: measured === 0, needs: '0', why });

/**
 * A promise of the product: no more than `most` of what must not happen to users' activations. If
 * it is broken, the bench reports it and ends with exit code 1. Other goals are only shown.
 */
export const promise = (
  name: string,
  measured: number,
  unit: string,
  { most = 0, ...extra }: { readonly most?: number; baseline?: number; note?: string } = {},
): BenchRow =>
  row(name, measured, unit, {
    ...extra,
    goal: most === 0 ? '0' : `<= ${most}`,
    // NaN keeps no promise.
    failed: !(measured <= most),
  });

/** A line for each row that makes the bench fail. */
export const failureLines = (rows: readonly BenchRow[]): string[] =>
  rows.flatMap(({ name, value, unit, goal, failed, precondition: needed }) => {
    if (!failed) return [];
    const [what, why] = needed ? ['precondition does not hold', `: ${needed.why}`] : ['broken', ''];
    return [`${what}: ${name} is ${figure(value)} ${unit}, not ${goal}${why}`];
  });

function figure(value: number | null): string {
  if (value === null || Number.isNaN(value)) return '-';
  const size = Math.abs(value);
  return size >= 1000 || Number.isInteger(value)
    ? value.toFixed(0)
    : size >= 10
      ? value.toFixed(1)
      : value.toPrecision(3);
}

export function table(rows: readonly BenchRow[]): string {
  const cells = [
    ['NAME', 'VALUE', 'UNIT', 'BASELINE', 'RATIO', 'GOAL', 'NOTE'],
    ...rows.map((r) => [
      r.name,
      figure(r.value),
      r.unit,
      figure(r.baseline),
      figure(r.ratio),
      r.goal ?? '',
      r.note ?? '',
    ]),
  ];
  return aligned(cells);
}

/** Lines of cells as text, each column as wide as its widest cell. */
export function aligned(lines: readonly (readonly string[])[]): string {
  const widths = lines[0]!.map((_, column) =>
    Math.max(...lines.map((line) => line[column]!.length)),
  );
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

export function json(rows: readonly BenchRow[]): string {
  return JSON.stringify(
    rows.map(({ name, value, unit, baseline, ratio, precondition: needed }) => ({
      name,
      value: Number.isFinite(value) ? value : null,
      unit,
      baseline,
      ratio,
      ...(needed === undefined ? {} : { precondition: needed }),
    })),
    null,
    2,
  );
}
