import { z } from 'zod';
import { FEATURE_LAYOUT } from '../../../../rules/index.js';

/** Weights of one network 11-32-16-1: 11 x 32 + 32 + 32 x 16 + 16 + 16 + 1. */
export const ACTOR_WEIGHTS = 929;
/**
 * Actor, then critic, of the same shape [FaaSRM §4]. The daemon evaluates the actor; a trainer has
 * both.
 */
export const POLICY_WEIGHTS = 2 * ACTOR_WEIGHTS;

/** Past this a weight is damage: scores of such networks stay finite in float32 below it. */
const LARGEST = 1e4;

/** Beside the weights, in the value of the key. */
export const faasrmParameters = z.strictObject({
  /** What the inputs mean; weights learned on others would be nonsense here. */
  layout: z.literal(FEATURE_LAYOUT),
  /**
   * Draws by the scores' softmax, so that there is something to learn from; else the highest score
   * is taken.
   */
  explore: z.boolean().optional(),
  /** Version of the weights, counted by the trainer and returned with every experience. */
  version: z.int().min(0).optional(),
});
export type FaasrmParameters = z.output<typeof faasrmParameters>;

/** What is wrong with weights; null: nothing. */
export function weightsProblem(weights: readonly number[]): string | null {
  if (weights.length !== POLICY_WEIGHTS)
    return `${weights.length} weights where ${POLICY_WEIGHTS} belong`;
  const wrong = weights.findIndex((weight) => !(Math.abs(weight) <= LARGEST));
  return wrong < 0 ? null : `weight ${wrong} is ${weights[wrong]}`;
}
