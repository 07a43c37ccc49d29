import { SeededRandom } from '../../config/index.js';
import { type BenchRow, row } from '../report.js';
import { bootstrapInterval, mean, quantile, sum } from '../statistics.js';
import { ARMS, type Arm, type CallRecord, type RoundRecord } from './records.js';

/** Allowed p99 slowdown above the higher of the fallback's two. */
const MARGIN = 0.05;

/** Phases in which its agent or the guard decides. */
const ONLINE = ['online', 'guarded'];

export interface RoundFigures {
  readonly p99: Readonly<Record<Arm, number>>;
  /** p99 with `aware` less the higher of the fallback's two. */
  readonly above: number;
  readonly calls: number;
}

const p99Of = (calls: readonly CallRecord[]): number =>
  quantile(
    calls.map(({ slowdown }) => slowdown),
    0.99,
  );

/** Compares the calls that `chosen` selects in the arm `aware`, in all arms. Null: no call. */
function figuresOf(
  { arms }: RoundRecord,
  chosen: (call: CallRecord, place: number) => boolean,
): RoundFigures | null {
  const places = arms.aware.fresh.map(chosen);
  const of = (arm: Arm): CallRecord[] => arms[arm].fresh.filter((_, place) => places[place]);
  const calls = of('aware').length;
  if (calls === 0) return null;
  const p99 = {
    fallback: p99Of(of('fallback')),
    aware: p99Of(of('aware')),
    again: p99Of(of('again')),
  };
  return { p99, above: p99.aware - Math.max(p99.fallback, p99.again), calls };
}

/** Index of the first call served by its agent. */
function servedFrom({ arms }: RoundRecord): number {
  const place = arms.aware.fresh.findIndex(({ phase }) => phase === 'serving');
  return place < 0 ? Number.POSITIVE_INFINITY : place;
}

/** While it learns: from its first call until it serves. */
export function learningFigures(round: RoundRecord): RoundFigures {
  const served = servedFrom(round);
  const figures = figuresOf(round, (_, place) => place < served);
  if (figures === null) throw new RangeError(`round ${round.round} has no call while it learns`);
  return figures;
}

/** While its agent decides; null: never. */
export const onlineFigures = (round: RoundRecord): RoundFigures | null => {
  const served = servedFrom(round);
  return figuresOf(round, ({ phase }, place) => ONLINE.includes(phase) && place < served);
};

const text = (values: readonly number[]): string =>
  values.map((value) => value.toFixed(3)).join(' ');

function aboveRow(name: string, figures: readonly RoundFigures[], what: string): BenchRow[] {
  const above = figures.map((one) => one.above);
  const { low, high } = bootstrapInterval(above, mean, new SeededRandom(1));
  const of = (arm: Arm): number[] => figures.map(({ p99 }) => p99[arm]);
  return [
    row(`${name}.above`, mean(above), 'x', {
      goal: `<= ${MARGIN}`,
      note:
        `${what}: p99 less the higher of the fallback's two, mean over rounds ` +
        `[${low.toFixed(3)}, ${high.toFixed(3)}]; by round ${text(above)}`,
    }),
    row(`${name}.p99`, mean(of('aware')), 'x', {
      baseline: mean(of('fallback')),
      note: [
        `by round ${text(of('aware'))}`,
        `fallback ${text(of('fallback'))}`,
        `again ${text(of('again'))}`,
      ].join('; '),
    }),
  ];
}

export function newFunctionRows(rounds: readonly RoundRecord[]): BenchRow[] {
  const learning = rounds.map(learningFigures);
  const online = rounds.map(onlineFigures).filter((one) => one !== null);
  const fresh = (arm: Arm): CallRecord[] => rounds.flatMap(({ arms }) => arms[arm].fresh);
  const running = (arm: Arm): number => mean(rounds.map(({ arms }) => p99Of(arms[arm].running)));
  const failed = (arm: Arm): number =>
    rounds.flatMap(({ arms }) => [...arms[arm].fresh, ...arms[arm].running]).filter(({ ok }) => !ok)
      .length;
  const slowdowns = (arm: Arm): number[] => fresh(arm).map(({ slowdown }) => slowdown);
  const decisions = (phase: string): number =>
    sum(rounds.map((round) => round.decisions[phase] ?? 0));
  return [
    ...aboveRow('new.learning', learning, 'from the first call until it serves'),
    ...(online.length > 0 ? aboveRow('new.online', online, 'calls while its agent decides') : []),
    row(
      'new.online.share',
      sum(online.map(({ calls }) => calls)) / fresh('aware').length,
      'of calls',
      {
        note: [
          `in ${online.length} of ${rounds.length} rounds`,
          `modes ${rounds.map(({ mode }) => mode).join(' ')}`,
          `decisions: ${(['offline', 'online', 'guarded', 'serving'] as const)
            .map((phase) => `${phase} ${decisions(phase)}`)
            .join(', ')}`,
          `its agent moved ${sum(rounds.map(({ moved }) => moved))} times`,
        ].join('; '),
      },
    ),
    ...ARMS.map((arm) =>
      row(`new.${arm}.all`, quantile(slowdowns(arm), 0.99), 'x', {
        note:
          `p99 of all ${slowdowns(arm).length} calls; ` +
          `median ${quantile(slowdowns(arm), 0.5).toFixed(3)}`,
      }),
    ),
    row('new.running.p99', running('aware'), 'x', {
      baseline: running('fallback'),
      note: `of what ran already, mean over rounds; again ${running('again').toFixed(3)}`,
    }),
    row('new.failed', failed('aware'), 'calls', {
      note: `fallback ${failed('fallback')} and ${failed('again')}`,
    }),
  ];
}
