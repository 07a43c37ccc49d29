import { z } from 'zod';
import { GleanerError } from '../../config/index.js';
import type { ActivationPolicy } from './activation-policy.js';
import { AlpsPolicy } from './alps.js';
import { EqualPolicy } from './equal.js';
import { LargestInRangePolicy } from './largest-in-range.js';
import { LibraPolicy } from './libra.js';
import { MemoryPolicyWeights } from './memory.js';
import { RandomInRangePolicy } from './random-in-range.js';
import { SfsPolicy } from './sfs.js';
import { ShortFirstPolicy } from './short-first.js';
import { ShortestRemainingFirstPolicy } from './shortest-remaining-first.js';
import { SmallestInRangePolicy } from './smallest-in-range.js';
import { TargetPolicy } from './target.js';

/** No activation policy has this name. */
export class UnknownPolicyError extends GleanerError {
  readonly code = 'GLN_POLICY_UNKNOWN';
}

/** Parameters of an activation policy that it cannot use. */
export class PolicyParametersError extends GleanerError {
  readonly code = 'GLN_POLICY_PARAMETERS';
}

/** Makes a policy from parameters that have not been checked: they come over NATS key-value. */
type Maker = (parameters: unknown) => ActivationPolicy;

const noParameters = z.strictObject({});
const shortestRemainingParameters = z.strictObject({ exponent: z.number().min(0).max(8).optional() });
const shortFirstParameters = z.strictObject({ alpha: z.number().min(0).max(2).optional() });

function maker<Schema extends z.ZodType>(
  name: string,
  schema: Schema,
  make: (parameters: z.output<Schema>) => ActivationPolicy,
): Maker {
  return (parameters) => {
    const checked = schema.safeParse(parameters ?? {});
    if (checked.success) return make(checked.data);
    const problem = checked.error.issues[0];
    const where = problem?.path.join('.') || 'parameters';
    throw new PolicyParametersError(`activation policy '${name}': ${where}: ${problem?.message ?? 'not valid'}`, {
      hint: 'Correct the entry in the key-value bucket gleaner_policy; the policy in use stays.',
    });
  };
}

const makers = new Map<string, Maker>([
  ['target', maker('target', noParameters, () => new TargetPolicy())],
  ['short-first', maker('short-first', shortFirstParameters, ({ alpha }) => new ShortFirstPolicy(alpha))],
  ['smallest-in-range', maker('smallest-in-range', noParameters, () => new SmallestInRangePolicy())],
  ['largest-in-range', maker('largest-in-range', noParameters, () => new LargestInRangePolicy())],
  ['random-in-range', maker('random-in-range', noParameters, () => new RandomInRangePolicy())],
  ['equal', maker('equal', noParameters, () => new EqualPolicy())],
  ['memory', maker('memory', noParameters, () => new MemoryPolicyWeights())],
  ['libra', maker('libra', noParameters, () => new LibraPolicy())],
  ['sfs', maker('sfs', noParameters, () => new SfsPolicy())],
  ['alps', maker('alps', noParameters, () => new AlpsPolicy())],
  [
    'shortest-remaining-first',
    maker(
      'shortest-remaining-first',
      shortestRemainingParameters,
      ({ exponent }) => new ShortestRemainingFirstPolicy(exponent),
    ),
  ],
]);

export const policyNames: readonly string[] = [...makers.keys()];

/** Throws {@link UnknownPolicyError} or {@link PolicyParametersError}. */
export function createPolicy(name: string, parameters?: unknown): ActivationPolicy {
  const make = makers.get(name);
  if (make === undefined) {
    throw new UnknownPolicyError(`no activation policy is called '${name}'`, {
      hint: `Known are: ${policyNames.join(', ')}.`,
    });
  }
  return make(parameters);
}
