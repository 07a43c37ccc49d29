/** One figure of a benchmark: `ratio` = value / baseline where a baseline was measured in the same run, else null. */
export interface BenchRow {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly baseline: number | null;
  readonly ratio: number | null;
  /** What the issue or the design asks for, for people; not part of the JSON. */
  readonly goal?: string;
  readonly note?: string;
  /** What must not be: the bench ends with exit code 1. */
  readonly failed?: boolean;
}

export function row(
  name: string,
  value: number,
  unit: string,
  extra: { baseline?: number; goal?: string; note?: string; failed?: boolean } = {},
): BenchRow {
  const { baseline, ...rest } = extra;
  return { name, value, unit, baseline: baseline ?? null, ratio: baseline ? value / baseline : null, ...rest };
}

const figure = (value: number | null): string => {
  if (value === null) return '-';
  const size = Math.abs(value);
  return size >= 1000 || Number.isInteger(value)
    ? value.toFixed(0)
    : size >= 10
      ? value.toFixed(1)
      : value.toPrecision(3);
};

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
  const widths = lines[0]!.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
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
    rows.map(({ name, value, unit, baseline, ratio }) => ({ name, value, unit, baseline, ratio })),
    null,
    2,
  );
}
