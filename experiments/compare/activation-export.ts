import { closeSync, openSync, writeSync } from 'node:fs';
import { messageOf, UsageError } from '../../config/index.js';
import {
  type ActivationRecorder,
  ClusterOutcome,
  type SimulatedActivation,
  StartKind,
} from '../../simulator/engine/index.js';
import type { StreamedFunction } from '../../simulator/workload/index.js';
import { csvCell } from './runs-csv.js';

type Cell = string | number | null;

const nameOf = (names: Readonly<Record<string, number>>, value: number): string =>
  Object.keys(names).find((name) => names[name] === value)!;

/** Simulated us as ms; null: the event did not happen. */
const millis = (micros: number): number | null => (Number.isFinite(micros) ? micros / 1000 : null);

const after = (to: number, from: number): number | null => millis(to - from);

/** Columns of the export. Times count from the start of the simulation. */
const COLUMNS: readonly (readonly [
  string,
  (activation: SimulatedActivation, fn: string) => Cell,
])[] = [
  ['activation', ({ activation }) => activation],
  ['function', (_, fn) => fn],
  ['host', ({ host }) => (host < 0 ? null : host)],
  ['start', ({ start }) => nameOf(StartKind, start)],
  ['outcome', ({ outcome }) => nameOf(ClusterOutcome, outcome)],
  ['arrivedAtMs', ({ arrivedAt }) => millis(arrivedAt)],
  ['waitMs', ({ placedAt, arrivedAt }) => after(placedAt, arrivedAt)],
  ['initMs', ({ runAt, placedAt }) => after(runAt, placedAt)],
  ['runMs', ({ endedAt, runAt }) => after(endedAt, runAt)],
  ['responseMs', ({ endedAt, arrivedAt }) => after(endedAt, arrivedAt)],
  ['cpuMs', ({ cpu }) => millis(cpu)],
  ['aloneMs', ({ soloMicros }) => millis(soloMicros)],
  ['aloneAtUserLimitsMs', ({ userMicros }) => millis(userMicros)],
];

/** Rows are written in blocks of about this size, so that long runs are not held in memory. */
const BLOCK_CHARACTERS = 1 << 20;

/** Writes a row per activation in the order of their ends, as CSV or JSON lines. */
export class ActivationExport implements ActivationRecorder {
  readonly #file: number;
  readonly #path: string;
  readonly #json: boolean;
  readonly #functions: readonly StreamedFunction[];
  #block = '';

  /** @throws UsageError for another file extension, or a file that cannot be written */
  static to(path: string, functions: readonly StreamedFunction[]): ActivationExport {
    if (!/\.(csv|jsonl)$/.test(path))
      throw new UsageError(`--export ${path}: the name must end with .csv or .jsonl`, {
        hint: 'gleaner simulate --export activations.csv',
      });
    try {
      return new ActivationExport(path, openSync(path, 'w'), functions);
    } catch (error) {
      throw cannotWrite(path, error);
    }
  }

  private constructor(path: string, file: number, functions: readonly StreamedFunction[]) {
    this.#path = path;
    this.#file = file;
    this.#functions = functions;
    this.#json = path.endsWith('.jsonl');
    if (!this.#json) this.#block = `${COLUMNS.map(([name]) => name).join(',')}\n`;
  }

  record(activation: SimulatedActivation): void {
    const fn = this.#functions[activation.fn]!.name;
    const row = this.#json
      ? JSON.stringify(Object.fromEntries(COLUMNS.map(([name, of]) => [name, of(activation, fn)])))
      : COLUMNS.map(([, of]) => csvCell(of(activation, fn) ?? '')).join(',');
    this.#block += `${row}\n`;
    if (this.#block.length >= BLOCK_CHARACTERS) this.#flush();
  }

  close(): void {
    try {
      this.#flush();
    } finally {
      closeSync(this.#file);
    }
  }

  #flush(): void {
    let bytes = Buffer.from(this.#block);
    this.#block = '';
    try {
      while (bytes.length > 0) bytes = bytes.subarray(writeSync(this.#file, bytes));
    } catch (error) {
      throw cannotWrite(this.#path, error);
    }
  }
}

const cannotWrite = (path: string, error: unknown): UsageError =>
  new UsageError(`cannot write ${path}: ${messageOf(error)}`, {
    hint: 'choose another folder or name',
  });
