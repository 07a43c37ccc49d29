import { stripVTControlCharacters } from 'node:util';
import pico from 'picocolors';
import { significant } from '../config/index.js';
import { type LineOutput, linesOf } from './line-output.js';

export type OutputFormat = 'table' | 'json';

export interface Screen {
  write(text: string): void;
  /** Bytes that the reader has not taken yet; absent: unknown. */
  readonly pending?: number;
  readonly isTerminal: boolean;
  readonly columns: number;
}

export type Colors = ReturnType<typeof pico.createColors>;

/** Colors only on a terminal, and never with NO_COLOR (https://no-color.org) or `TERM=dumb`. */
export function colorsFor(
  screen: Pick<Screen, 'isTerminal'>,
  env: Readonly<Record<string, string | undefined>>,
): Colors {
  return pico.createColors(screen.isTerminal && !env.NO_COLOR && env.TERM !== 'dumb');
}

export const processScreen: Screen = {
  write: (text) => void process.stdout.write(text),
  get pending() {
    return process.stdout.writableLength;
  },
  get isTerminal() {
    return process.stdout.isTTY === true;
  },
  get columns() {
    return process.stdout.columns ?? 100;
  },
};

/** What a reader of a long-running command's output may be behind. */
const MAX_BACKLOG = 1024 * 1024;

/** For long-running commands: a stalled reader costs lines and never blocks the process. */
export function boundedScreen(): Screen & Pick<LineOutput, 'flush' | 'pending'> {
  const notice = (dropped: number): string =>
    `gleaner: ${dropped} lines are missing here: the reader did not take them\n`;
  const lines = linesOf(process.stdout, MAX_BACKLOG, notice);
  return {
    write: (text) => void lines.write(text),
    flush: (maxMillis) => lines.flush(maxMillis),
    get pending() {
      return lines.pending;
    },
    get isTerminal() {
      return processScreen.isTerminal;
    },
    get columns() {
      return processScreen.columns;
    },
  };
}

export const visibleLength = (text: string): number => stripVTControlCharacters(text).length;

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string;
  /** Numbers stand right. */
  readonly right?: boolean;
}

/** Text, which may come from elsewhere. */
export const left = <Row>(title: string, value: (row: Row) => string): Column<Row> => ({
  title,
  value: (row) => plainText(value(row)),
});
/** Figures. */
export const right = <Row>(title: string, value: (row: Row) => string): Column<Row> => ({
  title,
  value,
  right: true,
});
/** Text with colors, which must be our own. */
export const styled = <Row>(title: string, value: (row: Row) => string): Column<Row> => ({
  title,
  value,
});

export interface TableLayout<Row> {
  readonly columns: readonly Column<Row>[];
  readonly widths: readonly number[];
  readonly heading: string;
  readonly lines: readonly string[];
  readonly text: string;
}

/** Columns are as wide as their widest cell and at least `least`, two spaces apart. */
export function layOutColumns<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  least: readonly number[] = [],
): TableLayout<Row> {
  const cells = rows.map((row) => columns.map((column) => column.value(row)));
  const widths = columns.map((column, i) =>
    Math.max(
      least[i] ?? 0,
      column.title.length,
      ...cells.map((line) => visibleLength(line[i] ?? '')),
    ),
  );
  const line = (values: readonly string[]): string =>
    values
      .map((value, i) => {
        const pad = ' '.repeat(Math.max(0, widths[i]! - visibleLength(value)));
        return columns[i]!.right ? pad + value : value + pad;
      })
      .join('  ')
      .trimEnd();
  const heading = line(columns.map((column) => column.title.toUpperCase()));
  const lines = cells.map(line);
  return { columns, widths, heading, lines, text: `${[heading, ...lines].join('\n')}\n` };
}

/** Leaves out the columns of these titles, in their order, until the others fit. */
export function fittedColumns<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  optional: readonly string[],
  width: number,
): TableLayout<Row> {
  const laid = layOutColumns(columns, rows);
  const [next, ...rest] = optional;
  if (next === undefined) return laid;
  if ([laid.heading, ...laid.lines].every((line) => visibleLength(line) <= width)) return laid;
  const kept = columns.filter(({ title }) => title !== next);
  return fittedColumns(kept, rows, rest, width);
}

export const table = <Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string =>
  layOutColumns(columns, rows).text;

const figures = (_key: string, value: unknown): unknown =>
  typeof value === 'number' ? significant(value) : value;

export const json = (value: unknown): string => `${JSON.stringify(value, figures, 2)}\n`;

export const compactJson = (value: unknown): string => `${JSON.stringify(value, figures)}\n`;

/** Foreign text (names, reasons) without characters that control a terminal. */
export const plainText = (text: string): string => text.replace(/\p{Cc}/gu, '?');

const missing = '-';
const real = (value: number | null | undefined): value is number =>
  typeof value === 'number' && Number.isFinite(value);

/** Millicores as cores: `0.25`, `2`. */
export function cores(value: number | null | undefined): string {
  return real(value) ? String(Number((value / 1000).toFixed(2))) : missing;
}

/** A CPU limit in cores; 0 means that there is none. */
export const coreLimit = (value: number): string => (value === 0 ? 'none' : cores(value));

export function mebibytesText(value: number | null | undefined): string {
  return real(value) ? `${Math.round(value / 1_048_576)}` : missing;
}

/** A span in ms, with the unit that reads best. */
export function span(value: number | null | undefined): string {
  if (!real(value)) return missing;
  if (value < 10) return `${value.toFixed(1)}ms`;
  if (value < 1000) return `${Math.round(value)}ms`;
  if (value < 60_000) return `${(value / 1000).toFixed(2)}s`;
  return `${Math.round(value / 60_000)}min`;
}

/** A span in ms for a column of them, without the unit. */
export function milliseconds(value: number | null | undefined): string {
  if (!real(value)) return missing;
  return value < 10 ? value.toFixed(1) : String(Math.round(value));
}

/** In the reader's time zone, as the dashboard shows it: `2026-11-29 00:18:48`. */
export function localTime(
  micros: number,
  parts: 'date and time' | 'time' = 'date and time',
): string {
  const date = new Date(micros / 1000);
  if (Number.isNaN(date.getTime())) return missing;
  const two = (value: number): string => String(value).padStart(2, '0');
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':');
  if (parts === 'time') return time;
  return `${[date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join('-')} ${time}`;
}

export function percent(value: number | null | undefined): string {
  return real(value) ? `${Math.round(value * 100)}%` : missing;
}

export function count(value: number | null | undefined): string {
  return real(value) ? String(value) : missing;
}

/** A list in a sentence: its first three items, and how many there are beside them. */
export function shortList(items: readonly string[], separator = ', '): string {
  const more = items.length > 3 ? ` and ${items.length - 3} more` : '';
  return `${items.slice(0, 3).join(separator)}${more}`;
}
