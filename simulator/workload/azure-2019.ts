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
import type { Workload, WorkloadInput } from './workload.js';

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
const MOST_COUNTS = 20_000_000;

/**
 * Makes a workload from days of Azure's trace of 2019 [Azure 2019], or from a sample of it, by the
 * rules of README.md. The key of a function is owner, application and function if the columns
 * exist, that of memory the application if it has no function column. Minutes of several days
 * follow each other; for memory and durations the first day that has them counts. The large table
 * of invocations is read row by row: only the selected part of the functions kept is in memory.
 *
 * @throws TraceError with file and line
 */
export function importAzure2019(
  files: TraceFiles | readonly TraceFiles[],
  options: ImportOptions,
): { workload: Workload; summary: ImportSummary } {
  const days = 'invocations' in files ? [files] : files;
  const log = new AnomalyLog(options.strict);
  const memory = new RecordedRows(MEMORY_COLUMNS, []);
  const durations = new RecordedRows(DURATION_COLUMNS, ['Minimum', 'Maximum']);
  const found = new Invocations(options, log, memory, durations);
  for (const day of days) {
    readTable(day.memory, log, (reader) => memory.read(reader, log));
    readTable(day.durations, log, (reader) => durations.read(reader, log));
  }
  for (const day of days) readTable(day.invocations, log, (reader) => found.read(reader));
  const minutes = found.checkMinutes();
  memory.noteUnused('memory', log);
  durations.noteUnused('durations', log);
  const summary = emptySummary(minutes >= 1440 ? 'azure-2019' : 'azure-2019-sample', log);
  const root = new SeededRandom(options.seed ?? 1);
  const functions: WorkloadInput['functions'] = [];
  for (const entry of found.entries()) {
    const recorded = durationsOf(entry.durations, log);
    const memoryMiB = memoryOf(entry.memory, log);
    const arrivals = {
      perMinute: entry.counts,
      sliceMs: 60_000,
      within: 'uniform' as const,
    };
    functions.push(
      workloadFunction({ ...entry, arrivals, durationMs: recorded.points, memoryMiB }, root),
    );
    const calls = entry.counts.reduce((sum, count) => sum + count, 0);
    summary.kept++;
    summary.activations += calls;
    summary.triggers[entry.trigger] = (summary.triggers[entry.trigger] ?? 0) + 1;
    summary.recordedSeconds += (recorded.averageMs * calls) / 1000;
  }
  summary.silent = found.silent;
  summary.beyond = found.beyond;
  if (functions.length === 0) {
    throw nothingLeft(
      days[0]!.invocations.name,
      'no function is left that has calls, memory and durations',
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
  readonly #columns: readonly string[];
  readonly #mayBeEmpty: readonly string[];
  readonly #rows = new Map<string, Row>();
  #keys: readonly string[] = [];

  constructor(columns: readonly string[], mayBeEmpty: readonly string[]) {
    this.#columns = columns;
    this.#mayBeEmpty = mayBeEmpty;
  }

  read(reader: TraceReader, log: AnomalyLog): void {
    this.#keys = keyColumns(reader);
    const keyAt = this.#keys.map((name) => reader.column(name));
    const at = this.#columns.map((name) => reader.column(name));
    const empty = this.#columns.map((name) =>
      this.#mayBeEmpty.includes(name) ? Number.NaN : undefined,
    );
    const mayBeEmpty = empty.map((value) => value !== undefined);
    const seen = new Map<string, Float64Array>();
    while (reader.next()) {
      if (!reader.isReadable(at, false, mayBeEmpty)) continue;
      const key = keyAt.map((column) => reader.text(column)).join('/');
      const values = Float64Array.from(at, (column, i) => reader.number(column, empty[i]));
      const earlier = seen.get(key);
      if (earlier === undefined) seen.set(key, values);
      else if (earlier.every((value, i) => Object.is(value, values[i])))
        log.note('repeated', reader.file, reader.line, `'${key}' is there already`);
      else
        log.note(
          'differing',
          reader.file,
          reader.line,
          `'${key}' is there already, with other values`,
        );
      if (!this.#rows.has(key))
        this.#rows.set(key, { file: reader.file, line: reader.line, values, isUsed: false });
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
  /** Of the part taken. */
  readonly counts: number[];
  readonly memory: Row;
  readonly durations: Row;
}

/** Collects the functions kept while days of invocations pass. */
class Invocations {
  silent = 0;
  beyond = 0;
  readonly #options: ImportOptions;
  readonly #log: AnomalyLog;
  readonly #memory: RecordedRows;
  readonly #durations: RecordedRows;
  readonly #entries = new Map<string, Entry>();
  /** Functions dropped, left out, or without a call so far. */
  readonly #others = new Map<string, 'dropped' | 'beyond' | 'silent'>();
  readonly #names = new ActionNames();
  /** Minutes of the days that have passed. */
  #minutes = 0;
  #file = '';

  constructor(
    options: ImportOptions,
    log: AnomalyLog,
    memory: RecordedRows,
    durations: RecordedRows,
  ) {
    this.#options = options;
    this.#log = log;
    this.#memory = memory;
    this.#durations = durations;
  }

  read(reader: TraceReader): void {
    this.#file = reader.file;
    const minutes = minuteColumns(reader);
    reader.column('HashFunction');
    const keys = keyColumns(reader);
    const counts = new Float64Array(minutes.length);
    const seen = new Set<string>();
    const text = (column: string) => reader.text(reader.column(column));
    while (reader.next()) {
      for (const rows of [this.#memory, this.#durations]) {
        const row = rows.of(text);
        if (row !== undefined) row.isUsed = true;
      }
      if (!reader.isReadable(minutes, true)) continue;
      minutes.forEach((column, i) => {
        counts[i] = reader.count(column);
      });
      const key = keys.map((name) => reader.text(reader.column(name))).join('/');
      if (seen.has(key))
        this.#log.note(
          'duplicates',
          reader.file,
          reader.line,
          `function '${key}' is there already`,
        );
      seen.add(key);
      this.#take(reader, key, counts);
    }
    this.#minutes += minutes.length;
    for (const entry of this.#entries.values()) pad(entry.counts, this.#overlap(this.#minutes)[1]);
  }

  /** Minutes in all. @throws TraceError where the part asked for lies behind them */
  checkMinutes(): number {
    const asked = this.#options.minutes;
    if (asked !== undefined && asked.from + asked.count > this.#minutes) {
      const part = `minutes ${asked.from} to ${asked.from + asked.count - 1} are asked for`;
      throw new TraceError(
        this.#file,
        0,
        `${part}, but there are ${this.#minutes}`,
        'take fewer minutes or more days',
      );
    }
    return this.#minutes;
  }

  *entries(): Iterable<Entry> {
    yield* this.#entries.values();
  }

  /** The part taken, cut at `minutes`: first minute and, relative to it, how many. */
  #overlap(minutes: number): [number, number] {
    const { from, count } = this.#options.minutes ?? { from: 0, count: Number.MAX_SAFE_INTEGER };
    return [from, Math.max(0, Math.min(minutes, from + count) - from)];
  }

  #take(reader: TraceReader, key: string, counts: Float64Array): void {
    const [from, length] = this.#overlap(this.#minutes + counts.length);
    const first = Math.max(0, from - this.#minutes);
    const part = counts.subarray(first, Math.max(first, from + length - this.#minutes));
    const known = this.#entries.get(key);
    if (known !== undefined) {
      const trigger = reader.has('Trigger') ? reader.text(reader.column('Trigger')) : 'unknown';
      if (trigger !== known.trigger)
        this.#log.note(
          'triggerChanged',
          reader.file,
          reader.line,
          `trigger '${trigger}', before '${known.trigger}'`,
        );
      add(known.counts, this.#minutes + first - from, part);
      return;
    }
    const other = this.#others.get(key);
    if (other === 'dropped' || other === 'beyond') return;
    if (!part.some((count) => count > 0)) {
      if (other === undefined) this.silent++;
      this.#others.set(key, 'silent');
      return;
    }
    if (other === 'silent') this.silent--;
    this.#others.delete(key);
    const text = (column: string) => reader.text(reader.column(column));
    const hash = text('HashFunction');
    if (!ActionNames.canBe(hash)) {
      throw new TraceError(reader.file, reader.line, `'${hash}' cannot name a function`);
    }
    const memory = this.#memory.of(text);
    const durations = this.#durations.of(text);
    if (memory === undefined)
      this.#log.note('withoutMemory', reader.file, reader.line, `no memory of '${key}'`);
    if (durations === undefined)
      this.#log.note('withoutDuration', reader.file, reader.line, `no durations of '${key}'`);
    if (memory === undefined || durations === undefined) {
      this.#others.set(key, 'dropped');
    } else if (this.#entries.size === (this.#options.functions ?? Number.POSITIVE_INFINITY)) {
      this.#others.set(key, 'beyond');
      this.beyond++;
    } else {
      const [, taken] = this.#overlap(this.#minutes + counts.length);
      if ((this.#entries.size + 1) * taken > MOST_COUNTS) {
        const held = `more than ${MOST_COUNTS / 1e6} million counts (functions x minutes)`;
        throw new TraceError(
          reader.file,
          reader.line,
          held,
          'take fewer functions or fewer minutes',
        );
      }
      const trigger = reader.has('Trigger') ? text('Trigger') : 'unknown';
      const entry: Entry = {
        key,
        name: this.#names.take(hash),
        trigger,
        memory,
        durations,
        counts: [],
      };
      add(entry.counts, this.#minutes + first - from, part);
      this.#entries.set(key, entry);
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

function pad(counts: number[], length: number): void {
  while (counts.length < length) counts.push(0);
}

function add(counts: number[], from: number, part: Float64Array): void {
  pad(counts, from + part.length);
  part.forEach((count, i) => {
    counts[from + i]! += count;
  });
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
