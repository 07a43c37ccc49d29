import { SeededRandom } from '../../config/index.js';
import { Table, TraceError } from './csv.js';
import { demandClass } from './demand-classes.js';
import { scaled } from './distribution.js';
import { type Arrivals, type Compression, checkWorkload, type Workload, type WorkloadInput } from './workload.js';

/** The three tables of a sample, with the names that errors use. */
export interface TraceFiles {
  readonly invocations: { readonly name: string; readonly content: string | Uint8Array };
  readonly memory: { readonly name: string; readonly content: string | Uint8Array };
  readonly durations: { readonly name: string; readonly content: string | Uint8Array };
}

export interface ImportOptions {
  readonly name: string;
  readonly seed?: number;
  readonly namespace?: string;
  /** Where calls lie inside their minute. */
  readonly within?: 'uniform' | 'poisson' | 'bursty' | 'even';
  /** Quota mode: containers get their user CPU as a quota; false: stock containers, none. */
  readonly quota?: boolean;
  /** Longest duration, ms; longer ones are clamped to it. OpenWhisk's own cap is 300 s. */
  readonly timeoutMs?: number;
  readonly compression?: Partial<Compression>;
  readonly host?: WorkloadInput['host'];
}

/** What the importer did, by rule; each count is of functions unless it says otherwise. */
export interface ImportSummary {
  kept: number;
  activations: number;
  /** Rows of invocations added to an earlier row of the same function. */
  duplicates: number;
  /** Repeated rows of memory and durations: the first stands. */
  repeated: number;
  withoutMemory: number;
  withoutDuration: number;
  withoutCalls: number;
  /** Some duration was above the time limit. */
  clamped: number;
  /** Average or some percentile below 1 ms: set to 1 ms. */
  floored: number;
  /** Percentiles that fell, or lay above the maximum: made to rise. */
  unordered: number;
  /** Minimum or Maximum empty: the outer percentiles stand in. */
  incomplete: number;
  triggers: Record<string, number>;
  /** Sum over functions of average duration x calls, s. */
  recordedSeconds: number;
  notes: { bom: number; crlfLines: number; blankLines: number };
}

const PERCENTILES = [0, 1, 25, 50, 75, 99, 100] as const;
const MEMORY_PERCENTILES = [1, 5, 25, 50, 75, 95, 99, 100] as const;
/** Users pick round limits: the smallest of these that holds the highest recorded working set. */
const MEMORY_SIZES = [128, 256, 512, 1024, 2048];

/**
 * Makes a workload from a sample of Azure's 2019 traces, by the rules of field-notes A6. Functions are keyed by owner, application
 * and function where the columns are there (A6-03), memory by application where it has no function column.
 *
 * @throws TraceError with file and line
 */
export function importAzure2019(
  files: TraceFiles,
  options: ImportOptions,
): { workload: Workload; summary: ImportSummary } {
  const invocations = new Table(files.invocations.name, files.invocations.content);
  const memory = new Table(files.memory.name, files.memory.content);
  const durations = new Table(files.durations.name, files.durations.content);
  const summary = emptySummary();
  for (const { notes } of [invocations, memory, durations]) {
    summary.notes.bom += notes.bom ? 1 : 0;
    summary.notes.crlfLines += notes.crlf;
    summary.notes.blankLines += notes.blank;
  }
  const timeoutMs = options.timeoutMs ?? 300_000;
  const root = new SeededRandom(options.seed ?? 1);
  const memoryRows = index(memory, summary);
  const durationRows = index(durations, summary);
  const functions: WorkloadInput['functions'] = [];
  for (const [key, entry] of readInvocations(invocations, summary)) {
    const memoryRow = memoryRows(entry.row, invocations);
    const durationRow = durationRows(entry.row, invocations);
    if (memoryRow === undefined) summary.withoutMemory++;
    if (durationRow === undefined) summary.withoutDuration++;
    const calls = entry.counts.reduce((sum, count) => sum + count, 0);
    if (calls === 0) summary.withoutCalls++;
    if (memoryRow === undefined || durationRow === undefined || calls === 0) continue;
    const recorded = readDurations(durations, durationRow, timeoutMs, summary);
    const megabytes = readMemory(memory, memoryRow, summary);
    const demand = demandClass(entry.name, entry.trigger, root.fork(key));
    const cores = Math.min(demand.parallelism, demand.userCpuMillicores / 1000);
    const longest = recorded.points.at(-1)![1];
    const arrivals: Arrivals = { perMinute: entry.counts, sliceMs: 60_000, within: options.within ?? 'uniform' };
    functions.push({
      name: `/${options.namespace ?? 'guest'}/${entry.name}`,
      kind: demand.kind,
      userCpuMillicores: options.quota === false ? null : demand.userCpuMillicores,
      memoryMiB: MEMORY_SIZES.find((size) => size >= megabytes.at(-1)![1]) ?? Math.ceil(megabytes.at(-1)![1]),
      timeoutMs: longest > 60_000 ? timeoutMs : 60_000,
      profile: {
        parallelism: demand.parallelism,
        cpuMs: scaled({ quantiles: recorded.points }, demand.busy * cores),
        ioMs: demand.busy < 1 ? scaled({ quantiles: recorded.points }, 1 - demand.busy) : 0,
        memory: {
          // An application's lowest percentile includes the activation; the runtime alone is taken for four fifths of it.
          baseMiB: Math.max(1, Math.round(megabytes[0]![1] * 0.8)),
          peakMiB: { quantiles: megabytes },
          growth: 0.5,
          retained: demand.retained,
        },
        initMs: demand.initMs,
      },
      arrivals,
    });
    summary.kept++;
    summary.activations += calls;
    summary.triggers[entry.trigger] = (summary.triggers[entry.trigger] ?? 0) + 1;
    summary.recordedSeconds += (recorded.averageMs * calls) / 1000;
  }
  if (functions.length === 0)
    throw new TraceError(invocations.file, 0, 'no function is left that has calls, memory and durations');
  const workload = checkWorkload({
    version: 1,
    name: options.name,
    description: `${summary.kept} functions, ${summary.activations} activations, ${Math.round(summary.recordedSeconds)} s of work as recorded; CPU demand is assumed by class (simulator/README.md)`,
    source: 'Azure Functions trace 2019 (Microsoft, CC-BY 4.0), sampled by the authors of Freyr',
    seed: options.seed ?? 1,
    draws: 'stratified',
    host: options.host ?? {},
    compression: options.compression ?? {},
    functions,
  });
  return { workload, summary };
}

interface Invocations {
  readonly name: string;
  readonly trigger: string;
  readonly counts: number[];
  /** First row of the function. */
  readonly row: number;
}

function readInvocations(table: Table, summary: ImportSummary): Map<string, Invocations> {
  const minutes = table.header.map((name, at) => ({ name, at })).filter(({ name }) => /^\d+$/.test(name));
  if (minutes.length === 0) throw new TraceError(table.file, 1, "there are no minute columns '1', '2', ...");
  minutes.forEach(({ name }, i) => {
    if (Number(name) !== i + 1)
      throw new TraceError(table.file, 1, `minute column '${name}' stands where '${i + 1}' belongs`);
  });
  const nameAt = table.column('HashFunction');
  const triggerAt = table.has('Trigger') ? table.column('Trigger') : -1;
  const found = new Map<string, Invocations>();
  const names = new Map<string, number>();
  for (let row = 0; row < table.rows.length; row++) {
    const counts = minutes.map(({ name, at }) => {
      const count = table.number(row, at);
      if (Number.isInteger(count)) return count;
      throw new TraceError(table.file, table.lines[row]!, `column '${name}' is ${count}, not a whole number of calls`);
    });
    const key = keyOf(table, row, true);
    const known = found.get(key);
    if (known !== undefined) {
      summary.duplicates++;
      counts.forEach((count, i) => {
        known.counts[i]! += count;
      });
      continue;
    }
    const plain = table.text(row, nameAt);
    if (!/^[^/\s]+$/.test(plain))
      throw new TraceError(table.file, table.lines[row]!, `'${plain}' cannot name a function`);
    // One hash under two applications is two functions (A6-03): the later ones get a number.
    const seen = (names.get(plain) ?? 0) + 1;
    names.set(plain, seen);
    const name = seen === 1 ? plain : `${plain}_${seen}`;
    found.set(key, { name, trigger: triggerAt < 0 ? 'unknown' : table.text(row, triggerAt), counts, row });
  }
  return found;
}

/** Finds the row of `table` that belongs to a row of invocations. */
function index(table: Table, summary: ImportSummary): (row: number, invocations: Table) => number | undefined {
  const byFunction = table.has('HashFunction');
  if (!byFunction) table.column('HashApp');
  const rows = new Map<string, number>();
  for (let row = 0; row < table.rows.length; row++) {
    const key = keyOf(table, row, byFunction);
    if (rows.has(key)) summary.repeated++;
    else rows.set(key, row);
  }
  const columns = keyColumns(byFunction).filter((name) => table.has(name));
  return (row, invocations) =>
    rows.get(columns.map((name) => invocations.text(row, invocations.column(name))).join('/'));
}

function keyColumns(byFunction: boolean): readonly string[] {
  return byFunction ? ['HashOwner', 'HashApp', 'HashFunction'] : ['HashOwner', 'HashApp'];
}

function keyOf(table: Table, row: number, byFunction: boolean): string {
  return keyColumns(byFunction)
    .filter((name) => table.has(name))
    .map((name) => table.text(row, table.column(name)))
    .join('/');
}

function readDurations(table: Table, row: number, timeoutMs: number, summary: ImportSummary) {
  const averageMs = table.number(row, table.column('Average'));
  const read = (column: string) => table.number(row, table.column(column), Number.NaN);
  const minimum = read('Minimum');
  const maximum = read('Maximum');
  if (Number.isNaN(minimum) || Number.isNaN(maximum)) summary.incomplete++;
  // Percentiles are of half-minute averages, so the ends are the recorded extremes, not percentiles 0 and 100 (A6-06).
  const values = PERCENTILES.map((percent) => table.number(row, table.column(`percentile_Average_${percent}`)));
  if (!Number.isNaN(minimum)) values[0] = minimum;
  if (!Number.isNaN(maximum)) values[values.length - 1] = maximum;
  if (rise(values)) summary.unordered++;
  if (values.at(-1)! > timeoutMs) summary.clamped++;
  if (averageMs < 1 || values[0]! < 1) summary.floored++;
  const points = PERCENTILES.map((percent, i): [number, number] => [
    percent / 100,
    Math.min(timeoutMs, Math.max(1, values[i]!)),
  ]);
  return { averageMs: Math.max(1, averageMs), points };
}

function readMemory(table: Table, row: number, summary: ImportSummary): [number, number][] {
  const values = MEMORY_PERCENTILES.map((percent) =>
    table.number(row, table.column(`AverageAllocatedMb_pct${percent}`)),
  );
  if (rise(values)) summary.unordered++;
  const points = MEMORY_PERCENTILES.map((percent, i): [number, number] => [percent / 100, Math.max(1, values[i]!)]);
  return [[0, points[0]![1]], ...points];
}

/** Makes values rise, in place. @returns whether any fell */
function rise(values: number[]): boolean {
  let fell = false;
  for (let i = 1; i < values.length; i++) {
    if (values[i]! >= values[i - 1]!) continue;
    values[i] = values[i - 1]!;
    fell = true;
  }
  return fell;
}

function emptySummary(): ImportSummary {
  return {
    kept: 0,
    activations: 0,
    duplicates: 0,
    repeated: 0,
    withoutMemory: 0,
    withoutDuration: 0,
    withoutCalls: 0,
    clamped: 0,
    floored: 0,
    unordered: 0,
    incomplete: 0,
    triggers: {},
    recordedSeconds: 0,
    notes: { bom: 0, crlfLines: 0, blankLines: 0 },
  };
}
