import { SeededRandom } from '../../config/index.js';
import { AnomalyLog, emptySummary, type ImportSummary, nothingLeft } from './anomalies.js';
import {
  ActionNames,
  type ImportOptions,
  importedWorkload,
  MAX_DURATION_MS,
  type Points,
  workloadFunction,
} from './recorded-function.js';
import { TraceError } from './trace-error.js';
import { readTable, type TraceReader, type TraceSource } from './trace-reader.js';
import { MOST_PER_MINUTE, type Workload, type WorkloadInput } from './workload.js';

/** The three tables of one day, or of a sample. */
export interface TraceFiles {
  readonly invocations: TraceSource;
  readonly memory: TraceSource;
  readonly durations: TraceSource;
}

const PERCENTILES = [0, 1, 25, 50, 75, 99, 100] as const;
const MEMORY_PERCENTILES = [1, 5, 25, 50, 75, 95, 99, 100] as const;
const DURATION_COLUMNS = [
  'Average',
  'Minimum',
  'Maximum',
  ...PERCENTILES.map((p) => `percentile_Average_${p}`),
];
const MEMORY_COLUMNS = MEMORY_PERCENTILES.map((p) => `AverageAllocatedMb_pct${p}`);

/**
 * Counts held at most, functions x minutes: about 800 MB while the workload is checked. A whole day
 * of all functions has 60 million.
 */
const MAX_COUNTS = 20_000_000;

/**
 * Makes a workload from a day of Azure's trace of 2019 [Azure 2019], or from a sample of it, by the
 * rules of docs/workloads.md. The key of a function is owner, application and function if the
 * columns exist, that of memory the application if it has no function column. The large table of
 * invocations is read row by row: only the counts of the functions kept are in memory.
 *
 * @throws TraceError with file and line
 */
export function importAzure2019(
  files: TraceFiles,
  options: ImportOptions,
): { workload: Workload; summary: ImportSummary } {
  const log = new AnomalyLog(options.strict);
  const memory = readTable(
    files.memory,
    log,
    (reader) => new RecordedRows(reader, MEMORY_COLUMNS, [], log),
  );
  const durations = readTable(
    files.durations,
    log,
    (reader) => new RecordedRows(reader, DURATION_COLUMNS, ['Minimum', 'Maximum'], log),
  );
  const found = new Invocations(log, memory, durations, options.functions);
  const minutes = readTable(files.invocations, log, (reader) => found.read(reader));
  memory.noteUnused('memory', log);
  durations.noteUnused('durations', log);
  const summary = emptySummary(minutes >= 1440 ? 'azure-2019' : 'azure-2019-sample', log);
  const root = new SeededRandom(options.seed ?? 1);
  const functions: WorkloadInput['functions'] = [];
  for (const entry of found.entries.values()) {
    const recorded = durationsOf(entry.durations, log);
    const memoryMiB = memoryOf(entry.memory, log);
    const arrivals = { perMinute: entry.counts, sliceMs: 60_000, within: 'uniform' as const };
    functions.push(
      workloadFunction({ ...entry, arrivals, durationMs: recorded.points, memoryMiB }, root),
    );
    const activations = entry.counts.reduce((sum, count) => sum + count, 0);
    summary.kept++;
    summary.activations += activations;
    summary.triggers[entry.trigger] = (summary.triggers[entry.trigger] ?? 0) + 1;
    summary.recordedSeconds += (recorded.averageMs * activations) / 1000;
  }
  summary.silent = found.silent;
  summary.beyond = found.beyond;
  if (functions.length === 0) {
    throw nothingLeft(
      files.invocations.name,
      'no function is left that has activations, memory and durations',
      log,
    );
  }
  const origin = {
    assumed: 'CPU demand is assumed by class',
    source:
      summary.format === 'azure-2019'
        ? 'Azure Functions trace 2019 (Microsoft, CC-BY 4.0)'
        : 'Azure Functions trace 2019 (Microsoft, CC-BY 4.0), sampled by the authors of Freyr',
  };
  return { workload: importedWorkload(functions, summary, origin, options), summary };
}

interface Row {
  readonly file: string;
  readonly line: number;
  /** In the order of the columns asked for; NaN = empty. */
  readonly values: Float64Array;
  /** There are invocations of it. */
  isUsed: boolean;
}

/** Memory or durations, by key. */
class RecordedRows {
  readonly #rows = new Map<string, Row>();
  readonly #keys: readonly string[];

  constructor(
    reader: TraceReader,
    columns: readonly string[],
    mayBeEmpty: readonly string[],
    log: AnomalyLog,
  ) {
    this.#keys = keyColumns(reader);
    const keyAt = this.#keys.map((name) => reader.column(name));
    const at = columns.map((name) => reader.column(name));
    const emptyAt = columns.map((name) => mayBeEmpty.includes(name));
    while (reader.next()) {
      if (!reader.isReadable(at, false, emptyAt)) continue;
      const key = keyAt.map((column) => reader.text(column)).join('/');
      const values = Float64Array.from(at, (column) => reader.number(column));
      const { file, line } = reader;
      const earlier = this.#rows.get(key)?.values;
      if (earlier === undefined) this.#rows.set(key, { file, line, values, isUsed: false });
      else if (earlier.every((value, i) => Object.is(value, values[i])))
        log.note('repeated', file, line, `'${key}' is there already`);
      else log.note('differing', file, line, `'${key}' is there already, with other values`);
    }
  }

  /** Notes the rows that no row of invocations belongs to. */
  noteUnused(what: string, log: AnomalyLog): void {
    for (const [key, { isUsed, file, line }] of this.#rows)
      if (!isUsed)
        log.note('unused', file, line, `${what} of '${key}', of which there are no invocations`);
  }

  /** @param part what a row of invocations has in a column */
  of(part: (column: string) => string): Row | undefined {
    return this.#rows.get(this.#keys.map(part).join('/'));
  }
}

/**
 * Key columns of a row: down to the function if there is such a column, otherwise the application.
 */
function keyColumns(reader: TraceReader): string[] {
  if (!reader.has('HashFunction')) reader.column('HashApp');
  return ['HashOwner', 'HashApp', 'HashFunction'].filter((name) => reader.has(name));
}

interface Entry {
  readonly key: string;
  readonly name: string;
  readonly trigger: string;
  /** By minute. */
  readonly counts: number[];
  readonly memory: Row;
  readonly durations: Row;
}

/** Collects the functions kept while the rows of invocations pass. */
class Invocations {
  silent = 0;
  beyond = 0;
  readonly entries = new Map<string, Entry>();
  readonly #log: AnomalyLog;
  readonly #memory: RecordedRows;
  readonly #durations: RecordedRows;
  readonly #maxFunctions: number;
  /** Functions dropped, left out, or without an activation so far. */
  readonly #others = new Map<string, 'dropped' | 'beyond' | 'silent'>();
  readonly #names = new ActionNames();

  constructor(
    log: AnomalyLog,
    memory: RecordedRows,
    durations: RecordedRows,
    maxFunctions = Number.POSITIVE_INFINITY,
  ) {
    this.#log = log;
    this.#memory = memory;
    this.#durations = durations;
    this.#maxFunctions = maxFunctions;
  }

  /** @returns the minutes of the table */
  read(reader: TraceReader): number {
    const minutes = minuteColumns(reader);
    reader.column('HashFunction');
    const keys = keyColumns(reader);
    const text = (column: string) => reader.text(reader.column(column));
    while (reader.next()) {
      const memory = this.#memory.of(text);
      const durations = this.#durations.of(text);
      for (const row of [memory, durations]) if (row !== undefined) row.isUsed = true;
      if (!reader.isReadable(minutes, true)) continue;
      const key = keys.map(text).join('/');
      const counts = minutes.map((column) => reader.number(column));
      const trigger = reader.has('Trigger') ? text('Trigger') : 'unknown';
      const known = this.entries.get(key);
      if (known !== undefined || this.#others.has(key))
        this.#log.note(
          'duplicates',
          reader.file,
          reader.line,
          `function '${key}' is there already`,
        );
      if (known === undefined) this.#take(reader, { key, trigger, counts }, memory, durations);
      else {
        if (trigger !== known.trigger)
          this.#log.note(
            'triggerChanged',
            reader.file,
            reader.line,
            `trigger '${trigger}', before '${known.trigger}'`,
          );
        counts.forEach((count, minute) => {
          known.counts[minute]! += count;
        });
      }
      // What is left out may be anything.
      const most = Math.max(0, ...(this.entries.get(key)?.counts ?? []));
      if (most > MOST_PER_MINUTE)
        throw new TraceError(
          reader.file,
          reader.line,
          `${most} activations in a minute, more than ${MOST_PER_MINUTE}`,
        );
    }
    return minutes.length;
  }

  #take(
    reader: TraceReader,
    row: Pick<Entry, 'key' | 'trigger' | 'counts'>,
    memory: Row | undefined,
    durations: Row | undefined,
  ): void {
    const { file, line } = reader;
    const { key, counts } = row;
    const other = this.#others.get(key);
    if (other === 'dropped' || other === 'beyond') return;
    if (!counts.some((count) => count > 0)) {
      if (other === undefined) this.silent++;
      this.#others.set(key, 'silent');
      return;
    }
    if (other === 'silent') this.silent--;
    this.#others.delete(key);
    const hash = reader.text(reader.column('HashFunction'));
    if (!ActionNames.canBe(hash))
      throw new TraceError(file, line, `'${hash}' cannot name a function`);
    if (memory === undefined) this.#log.note('withoutMemory', file, line, `no memory of '${key}'`);
    if (durations === undefined)
      this.#log.note('withoutDuration', file, line, `no durations of '${key}'`);
    if (memory === undefined || durations === undefined) {
      this.#others.set(key, 'dropped');
    } else if (this.entries.size === this.#maxFunctions) {
      this.#others.set(key, 'beyond');
      this.beyond++;
    } else {
      if ((this.entries.size + 1) * counts.length > MAX_COUNTS) {
        const held = `more than ${MAX_COUNTS / 1e6} million counts (functions x minutes)`;
        throw new TraceError(file, line, held, 'take fewer functions (--functions)');
      }
      this.entries.set(key, { ...row, name: this.#names.take(hash), memory, durations });
    }
  }
}

/** @throws TraceError */
function minuteColumns(reader: TraceReader): number[] {
  const minutes = reader.header
    .map((name, at) => ({ name, at }))
    .filter(({ name }) => /^\d+$/.test(name));
  if (minutes.length === 0)
    throw new TraceError(reader.file, 1, "there are no minute columns '1', '2', ...");
  minutes.forEach(({ name }, i) => {
    if (Number(name) !== i + 1)
      throw new TraceError(
        reader.file,
        1,
        `minute column '${name}' stands where '${i + 1}' belongs`,
      );
  });
  return minutes.map(({ at }) => at);
}

function durationsOf({ file, line, values }: Row, log: AnomalyLog) {
  let averageMs = values[0]!;
  const [minimum, maximum] = [values[1]!, values[2]!];
  const recorded = [...values.subarray(3)];
  if (Number.isNaN(minimum) || Number.isNaN(maximum)) {
    log.note('incomplete', file, line, 'Minimum or Maximum is empty');
  }
  if (averageMs < minimum || averageMs > maximum) {
    log.note(
      'contradictory',
      file,
      line,
      `Average ${averageMs} lies outside of ${minimum} to ${maximum}`,
    );
    averageMs = averageMs < minimum ? minimum : maximum;
  }
  // Percentiles are of half-minute averages, so the ends are the recorded extremes and not
  // percentiles 0 and 100.
  if (!Number.isNaN(minimum)) recorded[0] = minimum;
  if (!Number.isNaN(maximum)) recorded[recorded.length - 1] = maximum;
  if (rise(recorded))
    log.note('unordered', file, line, 'percentiles fall, or lie above the maximum');
  if (recorded.at(-1)! > MAX_DURATION_MS)
    log.note('clamped', file, line, `durations above ${MAX_DURATION_MS} ms`);
  if (averageMs < 1 || recorded[0]! < 1) log.note('floored', file, line, 'durations below 1 ms');
  const points = PERCENTILES.map((percent, i): [number, number] => [
    percent / 100,
    Math.min(MAX_DURATION_MS, Math.max(1, recorded[i]!)),
  ]);
  return { averageMs: Math.max(1, averageMs), points };
}

function memoryOf({ file, line, values }: Row, log: AnomalyLog): Points {
  const recorded = [...values];
  if (rise(recorded)) log.note('unordered', file, line, 'percentiles fall');
  const points = MEMORY_PERCENTILES.map((percent, i): [number, number] => [
    percent / 100,
    Math.max(1, recorded[i]!),
  ]);
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
