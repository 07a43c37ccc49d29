import { mean, meanInterval, quantile, sum } from '../../experiments/statistics.js';
import { type BenchRow, promise, row } from '../report.js';
import {
  type ActivationRecord,
  ARMS,
  type Arm,
  MODES,
  type Mode,
  type RoundRecord,
} from './records.js';

/** p99 slowdown that `aware` may lie above doing nothing. */
const MARGIN = 0.05;

/** Phases in which its agent or the guard decides. */
const ONLINE = ['online', 'guarded'];

export interface RoundFigures {
  readonly p99: Readonly<Record<Arm, number>>;
  /** p99 with `aware` less doing nothing. */
  readonly above: number;
  readonly activations: number;
  /** Share of them that its agent or the guard decided. */
  readonly online: number;
}

/** A failed activation counts as one of 60 ms, the mean, that took the time limit of 60 s. */
const FAILED = 1000;

const p99Of = (activations: readonly ActivationRecord[]): number =>
  quantile(
    activations.map(({ slowdown, ok }) => (ok ? slowdown : FAILED)),
    0.99,
  );

/** Its activations while it learns: from the first one until it serves; the same in all arms. */
function learningActivations({ arms }: RoundRecord, mode: Mode): Record<Arm, ActivationRecord[]> {
  const served = arms.aware[mode].findIndex(({ phase }) => phase === 'serving');
  const end = served < 0 ? undefined : served;
  const of = (arm: Arm): ActivationRecord[] => arms[arm][mode].slice(0, end);
  return { nothing: of('nothing'), fallback: of('fallback'), aware: of('aware') };
}

export function learningFigures(round: RoundRecord, mode: Mode): RoundFigures {
  const activations = learningActivations(round, mode);
  const { length } = activations.aware;
  if (length === 0) throw new RangeError(`round ${round.round} has no activation while it learns`);
  const p99 = {
    nothing: p99Of(activations.nothing),
    fallback: p99Of(activations.fallback),
    aware: p99Of(activations.aware),
  };
  const online = activations.aware.filter(({ phase }) => ONLINE.includes(phase)).length / length;
  return { p99, above: p99.aware - p99.nothing, activations: length, online };
}

const text = (values: readonly number[]): string =>
  values.map((value) => value.toFixed(3)).join(' ');

function modeRows(rounds: readonly RoundRecord[], mode: Mode): BenchRow[] {
  const figures = rounds.map((round) => learningFigures(round, mode));
  const above = figures.map((one) => one.above);
  const { low, high } = meanInterval(above);
  const pooled = (arm: Arm): number =>
    p99Of(rounds.flatMap((round) => learningActivations(round, mode)[arm]));
  const of = (arm: Arm): number[] => figures.map(({ p99 }) => p99[arm]);
  const decisions = rounds.map((round) => round.decisions[mode]);
  const phases = ['offline', 'online', 'guarded', 'serving'] as const;
  const counts = phases.map(
    (phase) => `${phase} ${sum(decisions.map((one) => one.phases[phase] ?? 0))}`,
  );
  return [
    row(`new.${mode}.above`, mean(above), 'x', {
      goal: `<= ${MARGIN}`,
      note:
        `p99 of aware less doing nothing, while it learns: mean over rounds ` +
        `[${low.toFixed(3)}, ${high.toFixed(3)}]; by round ${text(above)}`,
    }),
    row(`new.${mode}.p99`, mean(of('aware')), 'x', {
      baseline: mean(of('nothing')),
      note: ARMS.map((arm) => `${arm} ${text(of(arm))}`).join('; '),
    }),
    row(`new.${mode}.pooled`, pooled('aware'), 'x', {
      baseline: pooled('nothing'),
      note:
        'p99 of the activations of all rounds ' +
        `(${sum(figures.map(({ activations }) => activations))}); ` +
        `fallback ${pooled('fallback').toFixed(3)}`,
    }),
    row(`new.${mode}.online`, mean(figures.map(({ online }) => online)), 'of activations', {
      note:
        `decisions: ${counts.join(', ')}; its agent moved ` +
        `${sum(decisions.map(({ moved }) => moved))} times`,
    }),
  ];
}

export function newFunctionRows(rounds: readonly RoundRecord[]): BenchRow[] {
  const all = (arm: Arm): ActivationRecord[] =>
    rounds.flatMap(({ arms }) => [
      ...arms[arm].running,
      ...MODES.flatMap((mode) => arms[arm][mode]),
    ]);
  const failed = perArm((arm) => all(arm).filter(({ ok }) => !ok).length);
  const running = perArm((arm) => mean(rounds.map(({ arms }) => p99Of(arms[arm].running))));
  return [
    ...MODES.flatMap((mode) => modeRows(rounds, mode)),
    row('new.running.p99', running.aware, 'x', {
      baseline: running.nothing,
      note: `of the functions that ran already; fallback ${running.fallback.toFixed(3)}`,
    }),
    promise('new.failed', failed.aware, 'activations', {
      most: failed.nothing,
      note: `doing nothing ${failed.nothing}, fallback ${failed.fallback}`,
    }),
  ];
}

const perArm = <T>(of: (arm: Arm) => T): Record<Arm, T> => ({
  nothing: of('nothing'),
  fallback: of('fallback'),
  aware: of('aware'),
});
