import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { messageOf } from '../../config/index.js';
import { Table, TraceError } from '../workload/index.js';
import { type PublishedFunction, RULES } from './rules.js';

/**
 * The sample as the published simulator plays it: functions, and the function of each event, second
 * by second.
 */
export interface PublishedSample {
  readonly functions: readonly PublishedFunction[];
  /** Index of the function called, per event, in order. */
  readonly activations: Uint16Array;
  /** Second of each event: minute columns are played as seconds. [Freyr-sim] */
  readonly seconds: Uint8Array;
}

/** The sample that comes with the product, beside the sources: the same folder seen from dist/. */
const SHIPPED = 'azure-sample';
const SHIPPED_FOLDER = fileURLToPath(
  new URL('../../../simulator/workload/shipped/azure-sample/', import.meta.url),
);
const KIND = 'invocation_traces';
const HINT =
  'name a folder with *invocation_traces*.csv, *memory_traces*.csv (with its column Ideal) and ' +
  '*duration_traces*.csv, or the first of these files';

/**
 * The three tables of the sample at `path`: a folder, or the file of invocations. @throws
 * TraceError
 */
function readTables(path: string): { invocations: Table; memory: Table; durations: Table } {
  const candidates = isFolder(path)
    ? readdirSync(path)
        .filter((name) => name.includes(KIND) && name.endsWith('.csv'))
        .sort()
        .map((name) => join(path, name))
    : [path];
  const found = candidates
    .filter((file) => basename(file).includes(KIND))
    .map((file) => ({
      invocations: file,
      memory: sibling(file, 'memory_traces'),
      durations: sibling(file, 'duration_traces'),
    }))
    .filter(({ memory }) => readable(memory) && table(memory).has('Ideal'));
  const [files, ...others] = found;
  if (files === undefined)
    throw new TraceError(path, 0, 'no sample of the published simulator is there', HINT);
  if (others.length > 0)
    throw new TraceError(
      path,
      0,
      `${found.length} samples are there`,
      `name one: ${found.map((one) => one.invocations).join(', ')}`,
    );
  return {
    invocations: table(files.invocations),
    memory: table(files.memory),
    durations: table(files.durations),
  };
}

const sibling = (file: string, kind: string): string =>
  join(dirname(file), basename(file).replace(KIND, kind));

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch (error) {
    throw new TraceError(path, 0, messageOf(error), HINT);
  }
}

const readable = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isFile() === true;

function table(path: string): Table {
  try {
    return new Table(path, readFileSync(path));
  } catch (error) {
    throw error instanceof TraceError ? error : new TraceError(path, 0, messageOf(error), HINT);
  }
}

const clip = (value: number, high: number): number => Math.min(high, Math.max(1, value));

/**
 * Reads `count` rows of a sample from row `from` on (its folder, its file of invocations, or
 * `azure-sample`) by the rules of [Freyr-sim]: user CPU and user memory both come from the average
 * memory, the real demand from the column Ideal. Row `from` + i of each table is function i.
 *
 * @throws TraceError with file and line
 */
export function readPublishedSample(path: string, count: number, from = 0): PublishedSample {
  const { invocations, memory, durations } = readTables(path === SHIPPED ? SHIPPED_FOLDER : path);
  for (const other of [memory, durations]) {
    if (other.rows.length !== invocations.rows.length)
      throw new TraceError(
        other.file,
        0,
        `${other.rows.length} functions, but ${invocations.rows.length} have invocations`,
      );
  }
  if (from + count > invocations.rows.length)
    throw new TraceError(
      invocations.file,
      0,
      `has ${invocations.rows.length} functions, not ${from + count}`,
    );
  const trigger = invocations.column('Trigger');
  const average = memory.column('AverageAllocatedMb');
  const ideal = memory.column('Ideal');
  const shortest = durations.column('percentile_Average_1');
  const longest = durations.column('percentile_Average_100');
  const minimum = durations.column('Minimum');
  const functions = Array.from({ length: count }, (_, index): PublishedFunction => {
    const row = from + index;
    const user = clip(Math.floor(memory.number(row, average) / RULES.memoryUnitMb), RULES.cap);
    const requested = Math.floor(memory.number(row, ideal));
    const idealMb = clip(requested, RULES.memoryCapMb);
    const ticks = (column: number): number => Math.floor(durations.number(row, column) / 1000) + 1;
    return {
      index,
      user: { cpu: user, memory: user },
      idealCpu: clip(Math.floor(requested / RULES.memoryUnitMb), RULES.cap),
      idealMb,
      idealMemory: clip(Math.floor(idealMb / RULES.memoryUnitMb) + 1, RULES.cap),
      minDuration: ticks(shortest),
      maxDuration: ticks(longest),
      coldStart: ticks(minimum),
      timeout: invocations.text(row, trigger) === 'http' ? RULES.httpTimeout : RULES.otherTimeout,
    };
  });
  const activations: number[] = [];
  const seconds: number[] = [];
  for (let second = 0; second < RULES.seconds; second++) {
    const column = invocations.column(String(second + 1));
    for (let row = 0; row < count; row++) {
      for (let activation = invocations.number(from + row, column); activation > 0; activation--) {
        activations.push(row);
        seconds.push(second);
      }
    }
  }
  return {
    functions,
    activations: Uint16Array.from(activations),
    seconds: Uint8Array.from(seconds),
  };
}
