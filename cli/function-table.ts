import { type FunctionView, reasonText } from '../broker/services/index.js';
import { comparisonOf, errorClass, noComparison, suggest } from '../config/index.js';
import {
  type Colors,
  type Column,
  cores,
  count,
  fits,
  layOutColumns,
  mebibytesText,
  milliseconds,
  plainText,
  type TableLayout,
} from '../runtime/index.js';

/** A function on one host. */
export type FunctionRow = FunctionView & { readonly host: string; readonly killed: boolean };

/** Keys of `--output json` in their order; programs rely on them. Unknown values are null. */
export const FUNCTION_KEYS = [
  'name',
  'host',
  'mode',
  'killed',
  'paused',
  'activations',
  'running',
  'containers',
  'cpuMode',
  'userCpu',
  'cpu',
  'userShares',
  'shares',
  'userMemory',
  'memory',
  'borrowedMemory',
  'harvestedCpuSeconds',
  'harvestedMebibyteSeconds',
  'acceleratedCpuSeconds',
  'savedSeconds',
  'p99',
  'slo',
  'objective',
  'learning',
  'coldStarts',
  'initTime',
  'slowdown',
  'comparison',
  'slowerThanControl',
  'safeguard',
  'target',
  'ooms',
  'concurrent',
  'payload',
] as const satisfies readonly (keyof FunctionRow)[];

export const functionJson = (row: FunctionRow): Record<string, unknown> =>
  Object.fromEntries(FUNCTION_KEYS.map((key) => [key, row[key] ?? null]));

/** Width of the default table if there is no terminal. */
export const NARROW = 100;

const figure = (value: number): string => (value === 0 ? '-' : value.toFixed(1));
const modeText = (row: FunctionRow): string =>
  row.killed ? 'stopped' : row.paused ? 'paused' : row.mode;
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

const when = <Row>(condition: boolean, ...columns: Column<Row>[]): Column<Row>[] =>
  condition ? columns : [];

function narrowColumns(rows: readonly FunctionRow[], colors: Colors): Column<FunctionRow>[] {
  const { quota, weight } = kinds(rows);
  const hosts = new Set(rows.map(({ host }) => host));
  return [
    { title: 'function', value: (row) => plainText(row.name) },
    ...when<FunctionRow>(hosts.size > 1, { title: 'host', value: (row) => plainText(row.host) }),
    { title: 'mode', value: modeText },
    { title: 'calls', value: (row) => count(row.activations), right: true },
    ...when<FunctionRow>(quota, {
      title: 'cores now/user',
      value: (row) => (row.cpuMode === 'quota' ? pair(cores(row.cpu), cores(row.userCpu)) : '-'),
      right: true,
    }),
    ...when<FunctionRow>(weight, {
      title: 'weight now/user',
      value: (row) =>
        row.cpuMode === 'weight' ? pair(weightText(row.shares), weightText(row.userShares)) : '-',
      right: true,
    }),
    {
      title: 'MiB now/user',
      value: (row) => pair(mebibytesText(row.memory), mebibytesText(row.userMemory)),
      right: true,
    },
    {
      title: 'p99/slo ms',
      value: (row) => pair(milliseconds(p99Of(row)), milliseconds(row.slo)),
      right: true,
    },
    { title: 'objective', value: (row) => objectiveText(row, colors) },
  ];
}

/** Columns that a narrow table leaves out, in this order. */
const OPTIONAL_COLUMNS = ['calls', 'objective', 'MiB now/user', 'mode'];

/** Every column, each with one unit. */
function wideColumns(rows: readonly FunctionRow[], colors: Colors): Column<FunctionRow>[] {
  const { quota, weight } = kinds(rows);
  const inQuota = (text: (row: FunctionRow) => string) => (row: FunctionRow) =>
    row.cpuMode === 'quota' ? text(row) : '-';
  return [
    { title: 'function', value: (row) => plainText(row.name) },
    { title: 'host', value: (row) => plainText(row.host) },
    { title: 'mode', value: modeText },
    { title: 'calls', value: (row) => count(row.activations), right: true },
    { title: 'running', value: (row) => count(row.running), right: true },
    { title: 'containers', value: (row) => count(row.containers), right: true },
    { title: 'cpu by', value: (row) => row.cpuMode },
    ...when<FunctionRow>(
      quota,
      { title: 'user cores', value: inQuota((row) => cores(row.userCpu)), right: true },
      { title: 'now cores', value: inQuota((row) => cores(row.cpu)), right: true },
    ),
    ...when<FunctionRow>(
      weight,
      { title: 'user weight', value: (row) => weightText(row.userShares), right: true },
      { title: 'now weight', value: (row) => weightText(row.shares), right: true },
    ),
    { title: 'user MiB', value: (row) => mebibytesText(row.userMemory), right: true },
    { title: 'now MiB', value: (row) => mebibytesText(row.memory), right: true },
    {
      title: 'lent MiB',
      value: (row) => (row.borrowedMemory > 0 ? mebibytesText(row.borrowedMemory) : '-'),
      right: true,
    },
    { title: 'harvested core-s', value: (row) => figure(row.harvestedCpuSeconds), right: true },
    { title: 'harvested MiB-s', value: (row) => figure(row.harvestedMebibyteSeconds), right: true },
    { title: 'borrowed core-s', value: (row) => figure(row.acceleratedCpuSeconds), right: true },
    { title: 'saved s', value: (row) => figure(row.savedSeconds), right: true },
    { title: 'cold starts', value: (row) => count(row.coldStarts), right: true },
    { title: 'init ms', value: (row) => milliseconds(row.initTime), right: true },
    { title: 'p99 ms', value: (row) => milliseconds(p99Of(row)), right: true },
    { title: 'slo ms', value: (row) => milliseconds(row.slo), right: true },
    { title: 'objective', value: (row) => objectiveText(row, colors) },
    {
      title: 'slowdown',
      value: (row) => (row.slowdown === null ? '-' : row.slowdown.toFixed(2)),
      right: true,
    },
    { title: '95 % interval', value: intervalOf, right: true },
    { title: 'control samples', value: samplesOf, right: true },
    { title: 'safeguard', value: (row) => plainText(reasonText(row.safeguard)) },
  ];
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
  let columns = narrowColumns(rows, colors);
  for (const title of OPTIONAL_COLUMNS) {
    const laid = layOutColumns(columns, rows);
    if (fits(laid, width)) return laid;
    columns = columns.filter((column) => column.title !== title);
  }
  return layOutColumns(columns, rows);
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
