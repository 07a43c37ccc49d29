import { z } from 'zod';
import { errorClass, type PolicyName, policyNames } from '../../../config/index.js';
import type { ActivationPolicy } from './activation-policy.js';
import { AlpsPolicy } from './alps.js';
import { DeadlineFirstPolicy } from './deadline-first.js';
import { FaasrmPolicy } from './faasrm/index.js';
import { faasrmParameters, weightsProblem } from './faasrm/weights.js';
import { formulas } from './formulas.js';
import { GittinsPolicy } from './gittins.js';
import { LibraPolicy } from './libra.js';
import { SfsPolicy } from './sfs.js';
import { ShortFirstPolicy } from './short-first.js';
import { ShortestRemainingFirstPolicy } from './shortest-remaining-first.js';

/** No activation policy has this name. */
class UnknownPolicyError extends errorClass('GLN_POLICY_UNKNOWN') {}

/** Parameters of an activation policy that it cannot use. */
class PolicyParametersError extends errorClass('GLN_POLICY_PARAMETERS') {}

/**
 * Makes a policy from parameters and weights that have not been checked: they come over NATS
 * key-value.
 */
type Maker = (parameters: unknown, weights: readonly number[]) => ActivationPolicy;

const noParameters = z.strictObject({});
const shortestRemainingParameters = z.strictObject({
  exponent: z.number().min(0).max(8).optional(),
});
const shortFirstParameters = z.strictObject({ alpha: z.number().min(0).max(2).optional() });

/** To measure what revision during the activation brings: `bench weight --without-revision`. */
const gittinsParameters = z.strictObject({ revise: z.boolean().optional() });
const deadlineFirstParameters = gittinsParameters.extend({
  danger: z.number().min(0).max(1000).optional(),
});
const atStartOnly = (policy: ActivationPolicy): ActivationPolicy => ({
  name: policy.name,
  kind: policy.kind,
  relative: policy.relative === true,
  orders: policy.orders === true,
  choose: (run, grant, context) => policy.choose(run, grant, context),
});

function maker<Schema extends z.ZodType>(
  name: string,
  schema: Schema,
  make: (parameters: z.output<Schema>, weights: readonly number[]) => ActivationPolicy,
  problemOf: (weights: readonly number[]) => string | null = takesNone,
): Maker {
  return (parameters, weights) => {
    const refuse = (where: string, what: string): never => {
      throw new PolicyParametersError(name, where, what);
    };
    const problem = problemOf(weights);
    if (problem !== null) refuse('weights', problem);
    const checked = schema.safeParse(parameters ?? {});
    if (checked.success) return make(checked.data, weights);
    const [issue] = checked.error.issues;
    return refuse(issue?.path.join('.') || 'parameters', issue?.message ?? 'not valid');
  };
}

const takesNone = (weights: readonly number[]): string | null =>
  weights.length === 0 ? null : `it takes none, and ${weights.length} came`;

const trainedFaasrm = maker(
  'faasrm',
  faasrmParameters,
  (parameters, weights) => new FaasrmPolicy(weights, parameters),
  weightsProblem,
);
const untrainedFaasrm = maker('faasrm', noParameters, () => new FaasrmPolicy());

const withoutParameters = (name: keyof typeof formulas): Maker =>
  maker(name, noParameters, () => formulas[name]);

const makers: Readonly<Record<PolicyName, Maker>> = {
  target: withoutParameters('target'),
  'short-first': maker(
    'short-first',
    shortFirstParameters,
    ({ alpha }) => new ShortFirstPolicy(alpha),
  ),
  'deadline-first': maker(
    'deadline-first',
    deadlineFirstParameters,
    ({ danger, revise = true }) => {
      const policy = new DeadlineFirstPolicy(danger);
      return revise ? policy : atStartOnly(policy);
    },
  ),
  gittins: maker('gittins', gittinsParameters, ({ revise = true }) =>
    revise ? new GittinsPolicy() : atStartOnly(new GittinsPolicy()),
  ),
  'smallest-in-range': withoutParameters('smallest-in-range'),
  'largest-in-range': withoutParameters('largest-in-range'),
  'random-in-range': withoutParameters('random-in-range'),
  equal: withoutParameters('equal'),
  memory: withoutParameters('memory'),
  faasrm: (parameters, weights) =>
    weights.length === 0 && parameters === undefined
      ? untrainedFaasrm(parameters, weights)
      : trainedFaasrm(parameters, weights),
  libra: maker('libra', noParameters, () => new LibraPolicy()),
  sfs: maker('sfs', noParameters, () => new SfsPolicy()),
  alps: maker('alps', noParameters, () => new AlpsPolicy()),
  'shortest-remaining-first': maker(
    'shortest-remaining-first',
    shortestRemainingParameters,
    ({ exponent }) => new ShortestRemainingFirstPolicy(exponent),
  ),
};

/**
 * Throws {@link UnknownPolicyError} or {@link PolicyParametersError}; `ScorerUnavailableError`
 * where `faasrm` cannot run.
 */
export function createPolicy(
  name: string,
  parameters?: unknown,
  weights: readonly number[] = [],
): ActivationPolicy {
  if (!Object.hasOwn(makers, name)) {
    throw new UnknownPolicyError(name, policyNames.join(', '));
  }
  return makers[name as PolicyName](parameters, weights);
}
