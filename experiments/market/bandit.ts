import type { ResourceManager, View } from '../../agents/index.js';
import { bucketMiddle } from '../../broker/messages/index.js';
import type { Millis } from '../../config/index.js';
import { FACTORS } from './factors.js';

/** Length of a round, ms; what is left of a reward after the next one; share of random steps. */
const ROUND = 20_000;
const KEEP = 0.97;
const EXPLORED = 0.1;

interface BanditState {
  readonly arm: number;
  readonly endsAt: number;
  /** Decaying sums of rewards and of rounds, by arm. */
  readonly rewards: readonly number[];
  readonly rounds: readonly number[];
  /** Of the round: activations, late ones, seconds of running. */
  readonly activations: number;
  readonly late: number;
  readonly runSeconds: number;
}

/**
 * The primal-dual bandit: each function tries five factors and keeps that with the best reward,
 * its own late share and the price of the CPU that its factor takes. The price comes
 * from the mean field; without one it is 0. Steps lead to a neighboring factor.
 */
export function banditManager(): ResourceManager<BanditState> {
  return {
    name: 'bandit',
    phase: () => 'managing',
    initialState: () => ({
      arm: FACTORS.indexOf(1),
      endsAt: Number.NaN,
      rewards: FACTORS.map(() => 0),
      rounds: FACTORS.map(() => 0),
      activations: 0,
      late: 0,
      runSeconds: 0,
    }),
    decide(before, view, now) {
      const state = added(before, view, now);
      const next = now < state.endsAt || state.activations === 0 ? state : closed(state, view, now);
      return { state: next, decision: { weightFactor: FACTORS[next.arm]!, actions: [0, 0, 0] } };
    },
  };
}

function added(state: BanditState, { observation }: View, now: Millis): BanditState {
  const { latency, slo = Number.POSITIVE_INFINITY as Millis } = observation;
  let { activations, late } = state;
  latency.counts.forEach((count, i) => {
    activations += count;
    if (bucketMiddle(latency.first + i) > slo) late += count;
  });
  return {
    ...state,
    endsAt: Number.isNaN(state.endsAt) ? now + ROUND : state.endsAt,
    activations,
    late,
    runSeconds: state.runSeconds + latency.sum / 1000,
  };
}

function closed(state: BanditState, { others, random }: View, now: Millis): BanditState {
  const { arm, activations, late, runSeconds } = state;
  const elsewhere = others?.lateness;
  const price =
    elsewhere !== undefined && elsewhere.running > 0 ? elsewhere.atStake / elsewhere.running : 0;
  const reward = -(late + price * runSeconds * Math.log(FACTORS[arm]!)) / activations;
  const rewards = state.rewards.map((sum, i) => KEEP * sum + (i === arm ? reward : 0));
  const rounds = state.rounds.map((count, i) => KEEP * count + (i === arm ? 1 : 0));
  // What was not tried for long counts as never late.
  const value = (i: number): number => (rounds[i]! > 0.3 ? rewards[i]! / rounds[i]! : 0);
  const near = [arm, arm - 1, arm + 1].filter((i) => i >= 0 && i < FACTORS.length);
  const chosen =
    random.next() < EXPLORED
      ? near[random.below(near.length)]!
      : near.reduce((best, i) => (value(i) > value(best) ? i : best));
  return {
    arm: chosen,
    endsAt: now + ROUND,
    rewards,
    rounds,
    activations: 0,
    late: 0,
    runSeconds: 0,
  };
}
