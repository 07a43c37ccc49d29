import { type FunctionView, functionViewSchema } from '../broker/services/index.js';
import { errorClass, suggest } from '../config/index.js';
import { comparisonOf, modeInForce, noComparison, reasonText } from '../rules/index.js';
import {
  type Colors,
  type Column,
  coreLimit,
  count,
  fittedColumns,
  layOutColumns,
  left,
  mebibytesText,
  milliseconds,
  right,
  styled,
  type TableLayout,
} from '../runtime/index.js';

/** A function on one host. */
export type FunctionRow = FunctionView & { readonly host: string; readonly killed: boolean };

const KEYS = [
  'name',
  'host',
  'killed',
  ...Object.keys(functionViewSchema.shape),
] as (keyof FunctionRow)[];

/** For `--output json`: every key of the contract, null if unknown. Programs rely on them. */
export const functionJson = (row: FunctionRow): Record<string, unknown> =>
  Object.fromEntries(KEYS.map((key) => [key, row[key] ?? null]));

/** Width of the default table if there is no terminal. */
export const NARROW = 100;

const figure = (value: number): string => (value === 0 ? '-' : value.toFixed(1));
const weightText = (value: number): string => String(Math.round(value));
const pair = (now: string, user: string): string => `${now}/${user}`;

function objectiveText({ objective = 'learning' }: FunctionRow, colors: Colors): string {
  if (objective === 'kept') return colors.green(objective);
  return objective === 'missed' ? colors.red(objective) : objective;
}

/** The p99 of a few activations is only the slowest of them. */
const p99Of = ({ p99, learning }: FunctionRow): number | null =>
  learning === undefined || learning.activations >= learning.activationsNeeded ? p99 : null;

function intervalOf({ comparison = noComparison }: FunctionRow): string {
  const compared = comparisonOf(comparison);
  return compared.known ? `${compared.low.toFixed(2)}..${compared.high.toFixed(2)}` : '-';
}

/** Control samples so far, of those that a slowdown needs. */
function samplesOf({ comparison = noComparison }: FunctionRow): string {
  const compared = comparisonOf(comparison);
  return compared.known
    ? String(compared.controlSamples)
    : `${compared.controlSamples} of ${compared.needed}`;
}

/** CPU is limited in cores or by a weight; unused columns are left out. */
function kinds(rows: readonly FunctionRow[]): {
  readonly quota: boolean;
  readonly weight: boolean;
} {
  const weight = rows.some(({ cpuMode }) => cpuMode === 'weight');
  return { quota: !weight || rows.some(({ cpuMode }) => cpuMode === 'quota'), weight };
}

function narrowColumns(rows: readonly FunctionRow[], colors: Colors): Column<FunctionRow>[] {
  const { quota, weight } = kinds(rows);
  const hosts = new Set(rows.map(({ host }) => host));
  return [
    left<FunctionRow>('function', (row) => row.name),
    hosts.size > 1 && left<FunctionRow>('host', (row) => row.host),
    left('mode', modeInForce),
    right<FunctionRow>('activations', (row) => count(row.activations)),
    quota &&
      right<FunctionRow>('cores now/user', (row) =>
        row.cpuMode === 'quota' ? pair(coreLimit(row.cpu), coreLimit(row.userCpu)) : '-',
      ),
    weight &&
      right<FunctionRow>('weight now/user', (row) =>
        row.cpuMode === 'weight' ? pair(weightText(row.shares), weightText(row.userShares)) : '-',
      ),
    right<FunctionRow>('MiB now/user', (row) =>
      pair(mebibytesText(row.memory), mebibytesText(row.userMemory)),
    ),
    right<FunctionRow>('p99/slo ms', (row) =>
      pair(milliseconds(p99Of(row)), milliseconds(row.slo)),
    ),
    styled<FunctionRow>('objective', (row) => objectiveText(row, colors)),
  ].filter((column) => column !== false);
}

/** Columns that a narrow table leaves out, in this order. */
const OPTIONAL_COLUMNS = ['activations', 'objective', 'MiB now/user', 'mode'];

/** Every column, each with one unit. */
function wideColumns(rows: readonly FunctionRow[], colors: Colors): Column<FunctionRow>[] {
  const { quota, weight } = kinds(rows);
  const figureOf = (title: string, value: (row: FunctionRow) => string): Column<FunctionRow> =>
    right(title, value);
  const ofQuota = (title: string, value: (row: FunctionRow) => number): Column<FunctionRow> =>
    right(title, (row) => (row.cpuMode === 'quota' ? coreLimit(value(row)) : '-'));
  return [
    left<FunctionRow>('function', (row) => row.name),
    left<FunctionRow>('host', (row) => row.host),
    left('mode', modeInForce),
    figureOf('activations', (row) => count(row.activations)),
    figureOf('running', (row) => count(row.running)),
    figureOf('containers', (row) => count(row.containers)),
    left<FunctionRow>('cpu by', (row) => row.cpuMode),
    quota && ofQuota('user cores', (row) => row.userCpu),
    quota && ofQuota('now cores', (row) => row.cpu),
    weight && figureOf('user weight', (row) => weightText(row.userShares)),
    weight && figureOf('now weight', (row) => weightText(row.shares)),
    figureOf('user MiB', (row) => mebibytesText(row.userMemory)),
    figureOf('now MiB', (row) => mebibytesText(row.memory)),
    figureOf('lent MiB', (row) =>
      row.borrowedMemory > 0 ? mebibytesText(row.borrowedMemory) : '-',
    ),
    figureOf('harvested core-s', (row) => figure(row.harvestedCpuSeconds)),
    figureOf('harvested MiB-s', (row) => figure(row.harvestedMebibyteSeconds)),
    figureOf('borrowed core-s', (row) => figure(row.acceleratedCpuSeconds)),
    figureOf('saved s', (row) => figure(row.savedSeconds)),
    figureOf('cold starts', (row) => count(row.coldStarts)),
    figureOf('init ms', (row) => milliseconds(row.initTime)),
    figureOf('p99 ms', (row) => milliseconds(p99Of(row))),
    figureOf('slo ms', (row) => milliseconds(row.slo)),
    styled<FunctionRow>('objective', (row) => objectiveText(row, colors)),
    figureOf('slowdown', (row) => (row.slowdown === null ? '-' : row.slowdown.toFixed(2))),
    figureOf('95 % interval', intervalOf),
    figureOf('control samples', samplesOf),
    figureOf('mean-time ratio', (row) => row.slowdownBound?.meanTimeRatio?.toFixed(2) ?? '-'),
    left<FunctionRow>('safeguard', (row) => reasonText(row.safeguard)),
  ].filter((column) => column !== false);
}

export interface TableShape {
  readonly wide: boolean;
  /** Columns of the screen; ignored by the wide table. */
  readonly width: number;
  readonly colors: Colors;
  /** Layout of the table printed before, so that further rows line up with it. */
  readonly like?: TableLayout<FunctionRow>;
}

/** The table of functions. The default one leaves out columns until it fits. */
export function functionTable(
  rows: readonly FunctionRow[],
  { wide, width, colors, like }: TableShape,
): TableLayout<FunctionRow> {
  if (like !== undefined) return layOutColumns(like.columns, rows, like.widths);
  if (wide) return layOutColumns(wideColumns(rows, colors), rows);
  return fittedColumns(narrowColumns(rows, colors), rows, OPTIONAL_COLUMNS, width);
}

export class UnknownFunctionError extends errorClass('GLN_FUNCTION_UNKNOWN') {
  constructor(name: string, near: string | undefined) {
    const suggestion = near ? `did you mean \`${near}\`? ` : '';
    super(name, suggestion);
  }
}

export class AmbiguousFunctionError extends errorClass('GLN_FUNCTION_AMBIGUOUS') {
  constructor(name: string, candidates: readonly string[]) {
    const names = candidates.join(', ');
    super(name, candidates.length, names);
  }
}

const partsOf = (name: string): string[] => name.split('/').filter(Boolean);

/**
 * Resolves a full name, or the end of one (`dh`, `guest/dh`) if it is unique.
 * @throws UnknownFunctionError, AmbiguousFunctionError
 */
export function functionNamed(name: string, known: Iterable<string>): string {
  const all = [...new Set(known)].sort();
  if (all.includes(name)) return name;
  const asked = partsOf(name);
  const ends = all.filter(
    (each) => partsOf(each).slice(-asked.length).join('/') === asked.join('/'),
  );
  if (ends.length === 1) return ends[0]!;
  if (ends.length > 1) throw new AmbiguousFunctionError(name, ends);
  const near = suggest(asked.at(-1) ?? '', new Set(all.map((each) => partsOf(each).at(-1) ?? '')));
  throw new UnknownFunctionError(name, near);
}
