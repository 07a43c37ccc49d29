import { median, quantile, sum } from '../../experiments/statistics.js';
import { type BenchRow, promise, row } from '../report.js';
import type { Arm, CallRecord, RoundRecord } from './records.js';

/** Allowed above fixed against fixed, of the worst function's p99 slowdown. */
const MARGIN = 0.05;
const PREFIX = '/guest/';

interface Called {
  readonly name: string;
  readonly userCpuMillicores: number | null;
}

const callsOf = (round: RoundRecord, arm: Arm, name: string): CallRecord[] =>
  round.arms[arm].filter((call) => call.name === name);

/** Durations of one arm's calls over the same calls' in another. */
function slowdowns(rounds: readonly RoundRecord[], name: string, arm: Arm, against: Arm): number[] {
  return rounds.flatMap((round) => {
    const base = callsOf(round, against, name);
    return callsOf(round, arm, name).map(({ runMs }, i) => runMs / base[i]!.runMs);
  });
}

/**
 * Slowdowns by function: each managed call relative to both runs of the same call without writes,
 * and these two relative to each other in both directions, as the noise.
 */
export function slowdownRows(
  functions: readonly Called[],
  rounds: readonly RoundRecord[],
): BenchRow[] {
  const figures = functions
    .map(({ name, userCpuMillicores }) => {
      const short = name.slice(PREFIX.length);
      const on = [
        ...slowdowns(rounds, short, 'on', 'off'),
        ...slowdowns(rounds, short, 'on', 'again'),
      ];
      const fixed = [
        ...slowdowns(rounds, short, 'again', 'off'),
        ...slowdowns(rounds, short, 'off', 'again'),
      ];
      return { name: short, userCpuMillicores, on, fixed };
    })
    // In a short run some functions are not called.
    .filter(({ on }) => on.length > 0);
  const worst = (which: 'on' | 'fixed') =>
    figures
      .map((each) => ({ name: each.name, p99: quantile(each[which], 0.99) }))
      .reduce((most, each) => (each.p99 > most.p99 ? each : most));
  const [managed, fixed] = [worst('on'), worst('fixed')];
  return [
    row('agents.worst.p99', managed.p99, 'x', {
      baseline: fixed.p99,
      goal: `<= ${(fixed.p99 + MARGIN).toFixed(2)}`,
      note: `${managed.name}; fixed against fixed ${fixed.name}`,
    }),
    ...figures.map((each) =>
      row(`agents.${each.name}.p99`, quantile(each.on, 0.99), 'x', {
        baseline: quantile(each.fixed, 0.99),
        note: [
          `p90 ${quantile(each.on, 0.9).toFixed(2)}, fixed ${quantile(each.fixed, 0.9).toFixed(2)}`,
          `median ${median(each.on).toFixed(3)}`,
          `${each.on.length / 2} calls`,
          `user ${each.userCpuMillicores} mcores`,
        ].join('; '),
      }),
    ),
  ];
}

const all = (rounds: readonly RoundRecord[], arm: Arm): CallRecord[] =>
  rounds.flatMap(({ arms }) => arms[arm]);

/** Each managed call with its mean duration without writes and its explanation, by round. */
function managedCalls(rounds: readonly RoundRecord[]) {
  return rounds.flatMap((round) =>
    [...new Set(round.arms.on.map((call) => call.name))].flatMap((name) => {
      const [off, again] = [callsOf(round, 'off', name), callsOf(round, 'again', name)];
      return callsOf(round, 'on', name).map(({ id, runMs }, i) => ({
        runMs,
        fixedMs: (off[i]!.runMs + again[i]!.runMs) / 2,
        brought: round.brought[id],
      }));
    }),
  );
}

export function gainRows(rounds: readonly RoundRecord[]): BenchRow[] {
  const [on, off, again] = [all(rounds, 'on'), all(rounds, 'off'), all(rounds, 'again')];
  const managed = managedCalls(rounds);
  const share = (of: 'harvested' | 'accelerated'): BenchRow => {
    const calls = managed.filter(({ brought }) => (brought?.[of] ?? 0) > 0);
    const core = calls.reduce((sum, { brought }) => sum + brought![of], 0) / 1000;
    const saved = calls.reduce((sum, { fixedMs, runMs }) => sum + fixedMs - runMs, 0) / 1000;
    return row(`agents.${of}`, (100 * calls.length) / on.length, '% of calls', {
      note:
        `${calls.length} of ${on.length}, ${core.toFixed(1)} core-s; ` +
        `these took ${saved.toFixed(1)} s less than fixed`,
    });
  };
  const total = (of: readonly CallRecord[]): number =>
    of.reduce((sum, { runMs }) => sum + runMs, 0) / 1000;
  const without = (total(off) + total(again)) / 2;
  return [
    share('harvested'),
    share('accelerated'),
    row('agents.saved', without - total(on), 's', {
      note:
        `of ${without.toFixed(1)} s of durations; ` +
        `the two fixed runs differ by ${Math.abs(total(off) - total(again)).toFixed(1)} s`,
    }),
    row(
      'agents.explained',
      managed.filter(({ brought }) => brought !== undefined).length,
      'calls',
      {
        baseline: on.length,
        note: 'of which the hook told that limits were enforced',
      },
    ),
  ];
}

export function oomRows(rounds: readonly RoundRecord[]): BenchRow[] {
  const kills = (arm: Arm): number => all(rounds, arm).filter(({ kind }) => kind === 'oom').length;
  const failed = (arm: Arm): number => all(rounds, arm).filter(({ ok }) => !ok).length;
  return [
    row('agents.ooms', kills('on'), 'calls', {
      note: `fixed ${kills('off')} and ${kills('again')}`,
    }),
    promise('agents.ooms.caused', sum(rounds.map(({ killedBelow }) => killedBelow)), 'calls', {
      note: 'killed below a user limit, which the hook saw',
    }),
    promise('agents.lost', failed('on'), 'calls', {
      most: Math.max(failed('off'), failed('again')),
      note: `failed; fixed ${failed('off')} and ${failed('again')}`,
    }),
  ];
}
