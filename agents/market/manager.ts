import type { Decision, ResourceManager, View } from '../resource-manager.js';
import { MARKET, type MarketSettings } from './settings.js';

/** Keeps the factor that the activation policy has without an agent. */
const NEUTRAL: Decision = { weightFactor: 1, actions: [0, 0, 0] };

/**
 * The SLO-weight market. CPU goes to the functions whose activations it saves from being late: a
 * function bids its activations at stake per second of running, and the price is what the CPU that
 * it takes would save elsewhere: the same figure of all other functions. It multiplies its weight
 * by (bid / price)^exponent.
 *
 * First order: a weight that is larger by a small share shortens the function's latency and
 * lengthens those of the others by the same amount of running time, so late activations are fewest
 * where all bids are equal. The factor is a response and not an integral: bids fall as a function
 * speeds up, and an exponent up to 1 does not overshoot.
 */
export function marketManager(settings: MarketSettings = MARKET): ResourceManager<null> {
  return {
    name: 'slo-market',
    initialState: () => null,
    phase: () => 'managing',
    decide: (state, view) => ({ state, decision: decisionOf(view, settings) }),
  };
}

function decisionOf({ lateness, others }: View, settings: MarketSettings): Decision {
  const { exponent, priorSeconds, maxFactor, price: fixed } = settings;
  const elsewhere = others?.lateness;
  if (lateness?.hasObjective !== true) return NEUTRAL;
  const price =
    fixed ?? (elsewhere === undefined ? Number.NaN : elsewhere.atStake / elsewhere.running);
  if (!(price > 0) || !Number.isFinite(price)) return NEUTRAL;
  const { atStake, runSeconds } = lateness;
  const bid = (atStake + priorSeconds * price) / (runSeconds + priorSeconds);
  const factor = (bid / price) ** exponent;
  return {
    weightFactor: Math.min(maxFactor, Math.max(1 / maxFactor, factor)),
    actions: [0, Math.sign(Math.round(2 * Math.log2(factor))), 0],
  };
}
