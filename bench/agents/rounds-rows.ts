import { median, quantile, sum } from '../../experiments/statistics.js';
import { type BenchRow, promise, row } from '../report.js';
import type { Arm, KeptActivation, RoundRecord } from './records.js';

/** Allowed above fixed against fixed, of the worst function's p99 slowdown. */
const MARGIN = 0.05;
const PREFIX = '/guest/';

interface Called {
  readonly name: string;
  readonly userCpuMillicores: number | null;
}

const activationsOf = (round: RoundRecord, arm: Arm, name: string): KeptActivation[] =>
  round.arms[arm].filter((activation) => activation.name === name);

/** Durations of one arm's activations over the same activations' in another. */
function slowdowns(rounds: readonly RoundRecord[], name: string, arm: Arm, against: Arm): number[] {
  return rounds.flatMap((round) => {
    const base = activationsOf(round, against, name);
    return activationsOf(round, arm, name).map(({ runMs }, i) => runMs / base[i]!.runMs);
  });
}

/**
 * Slowdowns by function: each managed activation relative to both runs of the same activation
 * without writes, and these two relative to each other in both directions, as the noise.
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
          `${each.on.length / 2} activations`,
          `user ${each.userCpuMillicores} mcores`,
        ].join('; '),
      }),
    ),
  ];
}

const all = (rounds: readonly RoundRecord[], arm: Arm): KeptActivation[] =>
  rounds.flatMap(({ arms }) => arms[arm]);

/** Each managed activation with its mean duration without writes and its explanation, by round. */
function managedActivations(rounds: readonly RoundRecord[]) {
  return rounds.flatMap((round) =>
    [...new Set(round.arms.on.map((activation) => activation.name))].flatMap((name) => {
      const [off, again] = [activationsOf(round, 'off', name), activationsOf(round, 'again', name)];
      return activationsOf(round, 'on', name).map(({ id, runMs }, i) => ({
        runMs,
        fixedMs: (off[i]!.runMs + again[i]!.runMs) / 2,
        brought: round.brought[id],
      }));
    }),
  );
}

export function gainRows(rounds: readonly RoundRecord[]): BenchRow[] {
  const [on, off, again] = [all(rounds, 'on'), all(rounds, 'off'), all(rounds, 'again')];
  const managed = managedActivations(rounds);
  const share = (of: 'harvested' | 'accelerated'): BenchRow => {
    const activations = managed.filter(({ brought }) => (brought?.[of] ?? 0) > 0);
    const core = activations.reduce((sum, { brought }) => sum + brought![of], 0) / 1000;
    const saved = activations.reduce((sum, { fixedMs, runMs }) => sum + fixedMs - runMs, 0) / 1000;
    return row(`agents.${of}`, (100 * activations.length) / on.length, '% of activations', {
      note:
        `${activations.length} of ${on.length}, ${core.toFixed(1)} core-s; ` +
        `these took ${saved.toFixed(1)} s less than fixed`,
    });
  };
  const total = (of: readonly KeptActivation[]): number =>
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
      'activations',
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
    row('agents.ooms', kills('on'), 'activations', {
      note: `fixed ${kills('off')} and ${kills('again')}`,
    }),
    promise(
      'agents.ooms.caused',
      sum(rounds.map(({ killedBelow }) => killedBelow)),
      'activations',
      {
        note: 'killed below a user limit, which the hook saw',
      },
    ),
    promise('agents.lost', failed('on'), 'activations', {
      most: Math.max(failed('off'), failed('again')),
      note: `failed; fixed ${failed('off')} and ${failed('again')}`,
    }),
  ];
}
