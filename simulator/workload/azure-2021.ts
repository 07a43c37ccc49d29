import { type Random, SeededRandom } from '../../config/index.js';
import { AnomalyLog, emptySummary, type ImportSummary, nothingLeft } from './anomalies.js';
import { quantile } from './distribution.js';
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
import { LONGEST_SECONDS, type Workload, type WorkloadInput } from './workload.js';

/** The columns of the trace of 2021, in s. */
export const COLUMNS_2021 = ['app', 'func', 'end_timestamp', 'duration'] as const;

/**
 * Percentiles that a function's durations are kept as; the ends are its least and longest
 * activation.
 */
const PERCENTILES = [0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1] as const;

/**
 * **Assumption**: the trace of 2021 has no memory. An application's median is drawn from those of
 * the thousand functions of the 2019 sample (AverageAllocatedMb_pct50, MiB) ...
 */
const MEMORY_MEDIANS: Points = [
  [0, 71],
  [0.05, 102],
  [0.25, 120],
  [0.5, 147],
  [0.75, 191],
  [0.95, 267],
  [0.99, 502],
  [1, 1250],
];
/** ... and lies among its other percentiles as the medians of their ratios in that sample do. */
const MEMORY_SHAPE: Points = [
  [0, 0.86],
  [0.01, 0.86],
  [0.25, 0.97],
  [0.5, 1],
  [0.75, 1.03],
  [0.99, 1.15],
  [1, 1.25],
];

/**
 * Makes a workload from Azure's trace of 2021 [Azure 2021]: a row per activation, with its end and
 * duration. Activations start at end - duration; if some started before the recording, all are
 * shifted so that the first starts at 0. The key of a function is application and function: ids are
 * unique only within an application. Arrivals keep their times to the microsecond; durations are
 * kept as percentiles and drawn from them.
 *
 * @throws TraceError with file and line
 */
export function importAzure2021(
  source: TraceSource,
  options: ImportOptions,
): { workload: Workload; summary: ImportSummary } {
  const log = new AnomalyLog(options.strict);
  const summary = emptySummary('azure-2021', log);
  const { activations, shiftMs, spanMs } = readTable(source, log, (reader) =>
    readActivations(reader, log),
  );
  const root = new SeededRandom(options.seed ?? 1);
  const names = new ActionNames();
  const functions: WorkloadInput['functions'] = [];
  for (const [key, { app, func, starts, durations }] of activations) {
    if (functions.length === (options.functions ?? Number.POSITIVE_INFINITY)) {
      summary.beyond++;
      continue;
    }
    const recorded = {
      key,
      name: names.take(func),
      trigger: 'unknown',
      arrivals: {
        atMs: starts.map((start) => micros(start + shiftMs)).sort((a, b) => a - b),
        spanMs,
      },
      durationMs: percentiles(durations.map((ms) => Math.min(ms, MAX_DURATION_MS))),
      memoryMiB: memoryOf(root.fork(`memory of ${app}`)),
    };
    functions.push(workloadFunction(recorded, root));
    summary.kept++;
    summary.activations += starts.length;
    summary.recordedSeconds += durations.reduce((sum, ms) => sum + ms, 0) / 1000;
  }
  if (functions.length === 0) throw nothingLeft(source.name, 'no function has an activation', log);
  const origin = {
    assumed: 'CPU demand and memory are assumed',
    source: 'Azure Functions invocation trace 2021 (Microsoft, CC-BY 4.0)',
  };
  return { workload: importedWorkload(functions, summary, origin, options), summary };
}

interface Activations {
  readonly app: string;
  readonly func: string;
  /** ms, as recorded: below 0 at the head. */
  readonly starts: number[];
  readonly durations: number[];
}

function readActivations(reader: TraceReader, log: AnomalyLog) {
  const [appAt, funcAt, endAt, durationAt] = COLUMNS_2021.map((name) => reader.column(name));
  const activations = new Map<string, Activations>();
  let least = 0;
  let last = 0;
  const numbers = [endAt!, durationAt!];
  while (reader.next()) {
    if (!reader.isReadable(numbers, false)) continue;
    const [app, func] = [reader.text(appAt!), reader.text(funcAt!)];
    if (!ActionNames.canBe(func))
      throw new TraceError(reader.file, reader.line, `'${func}' cannot name a function`);
    for (const column of numbers) {
      const seconds = reader.number(column);
      if (seconds > LONGEST_SECONDS)
        throw new TraceError(
          reader.file,
          reader.line,
          `column '${reader.header[column]}' is ${seconds} s, more than a year`,
          'both times are in seconds; end_timestamp counts from the start of the recording',
        );
    }
    const endMs = reader.number(endAt!) * 1000;
    const durationMs = reader.number(durationAt!) * 1000;
    const startMs = endMs - durationMs;
    if (startMs < 0)
      log.note(
        'negativeStarts',
        reader.file,
        reader.line,
        `began ${-startMs / 1000} s before the recording`,
      );
    if (durationMs < 1) log.note('floored', reader.file, reader.line, `took ${durationMs} ms`);
    if (durationMs > MAX_DURATION_MS)
      log.note('clamped', reader.file, reader.line, `took ${durationMs} ms`);
    least = Math.min(least, startMs);
    last = Math.max(last, startMs);
    const key = `${app}/${func}`;
    let known = activations.get(key);
    if (known === undefined) {
      known = { app, func, starts: [], durations: [] };
      activations.set(key, known);
    }
    known.starts.push(startMs);
    known.durations.push(Math.max(1, durationMs));
  }
  // Half a microsecond past the last start, rounded up to a whole one: it lies inside.
  return { activations, shiftMs: -least, spanMs: micros(last - least) + 0.001 };
}

/** Empirical percentiles, between two activations on the line that joins them. */
function percentiles(values: number[]): Points {
  values.sort((a, b) => a - b);
  return PERCENTILES.map((p) => {
    const at = p * (values.length - 1);
    const below = values[Math.floor(at)]!;
    return [p, micros(below + (values[Math.ceil(at)]! - below) * (at - Math.floor(at)))];
  });
}

function memoryOf(random: Random): Points {
  const median = quantile({ quantiles: MEMORY_MEDIANS }, random.next());
  return MEMORY_SHAPE.map(([p, ratio]) => [p, Math.round(median * ratio)]);
}

/** To a thousandth of a ms. */
function micros(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
