import type { ActivationColumns } from './activations.js';
import type { FunctionRows } from './function-rows.js';
import { OutcomeStatistics } from './outcome-statistics.js';
import {
  type ActivationRecorder,
  ClusterOutcome as OUTCOME,
  type SimulatedActivation,
  StartKind as START_KIND,
} from './recorder.js';

const ClusterOutcome = OUTCOME;
const StartKind = START_KIND;

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * Records each activation once, when it ends: in the statistics and with the recorder if there is
 * one.
 */
export class Accounts {
  declare readonly outcomeStatistics: OutcomeStatistics;
  /** Activations that arrived and that ended, warm-up included. */
  arrived = 0;
  ended = 0;
  /** CPU work of the activations that arrived, core-us; inits are not counted. */
  asked = 0;
  declare private readonly c: ActivationColumns;
  declare private readonly functions: FunctionRows;
  declare private readonly recorder: ActivationRecorder | null;
  readonly #record: Mutable<SimulatedActivation> = {
    activation: 0,
    fn: 0,
    host: 0,
    start: 0,
    outcome: 0,
    arrivedAt: 0,
    placedAt: 0,
    runAt: 0,
    endedAt: 0,
    cpu: 0,
    soloMicros: 0,
    userMicros: 0,
  };

  constructor(
    columns: ActivationColumns,
    functions: FunctionRows,
    recorder: ActivationRecorder | null,
    sloFactor: number,
  ) {
    this.c = columns;
    this.functions = functions;
    this.recorder = recorder;
    this.outcomeStatistics = new OutcomeStatistics(functions.count, sloFactor);
  }

  /** `now` is the end as its caller sees it. */
  end(a: number, outcome: number, now: number): void {
    const c = this.c;
    const fn = c.fn[a]!;
    this.ended++;
    const placed = c.start[a] !== StartKind.none;
    if (c.counted[a] === 1) {
      const arrivedAt = c.arrivedAt[a]!;
      this.outcomeStatistics.ended(
        fn,
        outcome,
        c.start[a]!,
        placed ? c.placedAt[a]! - arrivedAt : 0,
      );
      if (outcome === ClusterOutcome.success) {
        const solo = Math.max(1, this.functions.soloMicros(fn, c.cpu[a]!, c.io[a]!));
        const user = Math.max(1, this.functions.userMicros(fn, c.cpu[a]!, c.io[a]!));
        this.outcomeStatistics.succeeded(
          fn,
          now - arrivedAt,
          now - c.tapAt[a]!,
          now - c.runAt[a]!,
          solo,
          user,
        );
      }
    }
    if (this.recorder !== null) this.#tell(a, outcome, now, placed, this.recorder);
  }

  #tell(
    a: number,
    outcome: number,
    now: number,
    placed: boolean,
    recorder: ActivationRecorder,
  ): void {
    const c = this.c;
    const record = this.#record;
    const fn = c.fn[a]!;
    record.activation = c.activation[a]!;
    record.fn = fn;
    record.host = c.host[a]!;
    record.start = c.start[a]!;
    record.outcome = outcome;
    record.arrivedAt = c.arrivedAt[a]!;
    record.placedAt = placed ? c.placedAt[a]! : Number.NaN;
    record.runAt = c.runAt[a]!;
    record.endedAt = now;
    record.cpu = Number.isNaN(c.runAt[a]!) ? 0 : c.done[a]!;
    record.soloMicros = this.functions.soloMicros(fn, c.cpu[a]!, c.io[a]!);
    record.userMicros = this.functions.userMicros(fn, c.cpu[a]!, c.io[a]!);
    recorder.record(record);
  }
}
