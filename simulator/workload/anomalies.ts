import { TraceError } from './trace-error.js';

/** Anomalies of a trace that an importer tolerates, with the rule for each. */
const ANOMALIES = {
  bom: 'files that begin with a byte order mark: skipped',
  crlf: 'lines that end in CR LF: accepted',
  blank: 'empty lines: skipped',
  duplicates: 'rows of a function that was there already: counts added',
  repeated: 'further rows of memory or durations for the same key, with the same values: ignored',
  differing:
    'further rows of memory or durations for the same key, with other values: the first is used',
  negative: 'rows with a negative number: skipped',
  unreadable: 'rows with a field that is no number, or a fraction of an activation: skipped',
  contradictory:
    'rows whose Average lies outside of Minimum to Maximum: the nearer of both is used',
  triggerChanged: 'rows with another trigger than the function had before: the first is used',
  unused: 'rows of memory or durations for an application or function without invocations: ignored',
  withoutMemory: 'functions whose application has no memory: dropped',
  withoutDuration: 'functions without durations: dropped',
  clamped: 'durations above the time limit: cut at it',
  floored: 'durations below 1 ms: set to 1 ms',
  unordered: 'percentiles that fall, or lie above the maximum: made to rise',
  incomplete: 'empty Minimum or Maximum: the outer percentiles stand in',
  negativeStarts:
    'activations that began before the recording: everything shifted so that the first begins at 0',
} as const;

export type Anomaly = keyof typeof ANOMALIES;

/**
 * Counts anomalies and remembers where each was met first; with `strict` the first one is an error.
 */
export class AnomalyLog {
  readonly met: Record<Anomaly, number>;
  readonly first: Partial<Record<Anomaly, string>> = {};
  readonly #strict: boolean;

  constructor(strict = false) {
    this.#strict = strict;
    this.met = Object.fromEntries(Object.keys(ANOMALIES).map((kind) => [kind, 0])) as Record<
      Anomaly,
      number
    >;
  }

  /** @throws TraceError if nothing is let pass */
  note(kind: Anomaly, file: string, line: number, what: string): void {
    if (this.#strict)
      throw new TraceError(file, line, what, `without --strict: ${ANOMALIES[kind]}`);
    if (this.met[kind]++ === 0) this.first[kind] = line > 0 ? `${file}: line ${line}` : file;
  }
}

/** The error of a trace of which no function is left, with what was odd in it. */
export function nothingLeft(file: string, message: string, log: AnomalyLog): TraceError {
  const reasons = dataIssues(log).map(
    ({ count, rule, first }) => `${count} ${rule} (first: ${first})`,
  );
  return reasons.length === 0
    ? new TraceError(file, 0, message)
    : new TraceError(file, 0, message, reasons.join('; '));
}

/**
 * What an importer did. `met` counts functions, rows or (2021) activations, as `ANOMALIES` says.
 */
export interface ImportSummary {
  readonly format: 'azure-2019-sample' | 'azure-2019' | 'azure-2021';
  /** Functions. */
  kept: number;
  /** Activations of the functions kept. */
  activations: number;
  /** Functions without an activation: not kept, and no anomaly. */
  silent: number;
  /** Functions beyond the number asked for. */
  beyond: number;
  readonly triggers: Record<string, number>;
  /**
   * Work of the activations kept as recorded: 2019 average x activations, 2021 the sum; after
   * floor, before the time limit; s.
   */
  recordedSeconds: number;
  readonly met: Readonly<Record<Anomaly, number>>;
  /** Where each was met first. */
  readonly first: Readonly<Partial<Record<Anomaly, string>>>;
}

export function emptySummary(format: ImportSummary['format'], log: AnomalyLog): ImportSummary {
  const counts = { kept: 0, activations: 0, silent: 0, beyond: 0, recordedSeconds: 0 };
  return { format, ...counts, triggers: {}, met: log.met, first: log.first };
}

/** What was odd in a trace, and what was done about it. */
export interface DataIssue {
  readonly kind: Anomaly;
  readonly count: number;
  readonly rule: string;
  /** File and line of the first. */
  readonly first: string;
}

/** Issues of each kind that was met, in the order of {@link ANOMALIES}. */
export function dataIssues({ met, first }: Pick<ImportSummary, 'met' | 'first'>): DataIssue[] {
  return (Object.keys(ANOMALIES) as Anomaly[])
    .filter((kind) => met[kind] > 0)
    .map((kind) => ({ kind, count: met[kind], rule: ANOMALIES[kind], first: first[kind] ?? '' }));
}
