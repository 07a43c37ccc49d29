import { closeSync, openSync, readdirSync, readSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { TraceFiles } from './azure-2019.js';
import { COLUMNS_2021 } from './azure-2021.js';
import { TraceError } from './trace-error.js';
import { refusePacked, type TraceSource } from './trace-reader.js';

/** What a path turned out to be. */
export type Recognized =
  | { readonly kind: 'product' }
  | { readonly kind: '2019'; readonly name: string; readonly files: TraceFiles }
  | { readonly kind: '2021'; readonly name: string; readonly source: TraceSource };

/** A table of the full traces of 2019: what it is called, to day. */
const FULL_TABLES = [
  'invocations_per_function_md',
  'app_memory_percentiles',
  'function_durations_percentiles',
];
const FULL = new RegExp(`^(${FULL_TABLES.join('|')})\\.anon\\.d(\\d\\d)\\.csv$`);
/**
 * A table of a sample: `<set>_<table>_traces_<number>.csv`, also without a set's name of its own
 * (`sampled_...`).
 */
const SAMPLE = /^(.+)_(invocation|memory|duration)_traces_(\d+)\.csv$/;

/** Azure recorded memory for the first twelve of fourteen days. [Azure 2019] */
const LAST_DAY_WITH_MEMORY = 12;

/**
 * Recognizes a file by its name and head. A table of 2019 includes its two companions.
 *
 * @throws TraceError for packed files, unknown tables and sets with a table missing
 */
export function recognizeFile(path: string): Recognized {
  const name = basename(path);
  const folder = dirname(path);
  const head = headOf(path);
  refusePacked(name, head);
  const full = FULL.exec(name);
  if (full !== null) return fullDay(folder, readdirSync(folder), Number(full[2]));
  const sample = SAMPLE.exec(name);
  if (sample !== null)
    return sampleSet(folder, readdirSync(folder), `${sample[1]}`, Number(sample[3]));
  const firstLine = firstLineOf(head);
  if (is2021(firstLine))
    return { kind: '2021', name: name.replace(/\.[^.]*$/, ''), source: { name, path } };
  if (!/\.(csv|txt)$/i.test(name)) return { kind: 'product' };
  if (head.length === 0) throw new TraceError(name, 1, 'is empty: there is no header');
  if (/\bHash(Function|App)\b/.test(firstLine)) {
    const hint =
      'names are <set>_{invocation,memory,duration}_traces_0.csv, ' +
      `or Azure's own: invocations_per_function_md.anon.d01.csv ...`;
    throw new TraceError(name, 1, 'is one of three tables, but its name does not say which', hint);
  }
  throw new TraceError(name, 1, `is no table of a known trace: '${firstLine.slice(0, 60)}'`);
}

/** Recognizes what lies in a folder. @throws TraceError */
export function recognizeFolder(path: string): Recognized {
  const entries = readdirSync(path).sort();
  const days = entries.map((entry) => Number(FULL.exec(entry)?.[2])).filter((day) => day > 0);
  if (days.length > 0) return fullDay(path, entries, Math.min(...days));
  const sets = [
    ...new Set(entries.map((entry) => SAMPLE.exec(entry)?.[1]).filter((set) => set !== undefined)),
  ];
  if (sets.length > 0) {
    // The sample's authors ship two sets in one folder: exp_sim is the one that a simulator plays.
    const set = sets.length === 1 ? sets[0]! : sets.find((name) => name === 'exp_sim');
    if (set === undefined) {
      throw new TraceError(
        path,
        0,
        `has several sets: ${sets.join(', ')}`,
        'name one of the files instead of the folder',
      );
    }
    const first = entries.map((entry) => SAMPLE.exec(entry)).find((match) => match?.[1] === set);
    return sampleSet(path, entries, set, Number(first![3]));
  }
  for (const entry of entries.filter((name) => /\.(csv|txt)$/i.test(name))) {
    if (is2021(firstLineOf(headOf(join(path, entry))))) return recognizeFile(join(path, entry));
  }
  for (const entry of entries) refusePacked(entry, new Uint8Array());
  throw new TraceError(path, 0, 'holds no table of a known trace');
}

function firstLineOf(head: Uint8Array): string {
  // The decoder skips a byte order mark by itself.
  return new TextDecoder().decode(head).split(/\r?\n/, 1)[0]!;
}

function is2021(firstLine: string): boolean {
  const columns = firstLine.split(',').map((column) => column.trim());
  return COLUMNS_2021.every((column) => columns.includes(column));
}

function sampleSet(
  folder: string,
  entries: readonly string[],
  set: string,
  number: number,
): Recognized {
  const find = (table: string) => {
    const name = `${set}_${table}_traces_${number}.csv`;
    return sourceIn(folder, entries, name, `the set '${set}' has no ${table} table`);
  };
  return {
    kind: '2019',
    name: set,
    files: {
      invocations: find('invocation'),
      memory: find('memory'),
      durations: find('duration'),
    },
  };
}

function fullDay(folder: string, entries: readonly string[], day: number): Recognized {
  const number = String(day).padStart(2, '0');
  const find = (table: string) =>
    sourceIn(folder, entries, `${table}.anon.d${number}.csv`, `day ${day} has no ${table}`);
  if (
    day > LAST_DAY_WITH_MEMORY &&
    !entries.includes(`app_memory_percentiles.anon.d${number}.csv`)
  ) {
    const message = `day ${day} has no memory: Azure recorded it until day ${LAST_DAY_WITH_MEMORY}`;
    throw new TraceError(folder, 0, message, `take a day from 1 to ${LAST_DAY_WITH_MEMORY}`);
  }
  return {
    kind: '2019',
    name: `azure-2019-d${number}`,
    files: {
      invocations: find('invocations_per_function_md'),
      memory: find('app_memory_percentiles'),
      durations: find('function_durations_percentiles'),
    },
  };
}

function sourceIn(
  folder: string,
  entries: readonly string[],
  name: string,
  missing: string,
): TraceSource {
  if (entries.includes(name)) return { name, path: join(folder, name) };
  for (const entry of entries) if (entry.startsWith(name)) refusePacked(entry, new Uint8Array());
  throw new TraceError(folder, 0, missing, `there is no ${name}`);
}

function headOf(path: string): Uint8Array {
  const head = new Uint8Array(4096);
  const file = openSync(path, 'r');
  try {
    return head.subarray(0, readSync(file, head));
  } finally {
    closeSync(file);
  }
}
