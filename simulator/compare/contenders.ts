import { managerNames } from '../../agents/index.js';
import { GleanerError, suggest } from '../../config/index.js';
import { createPolicy, policyNames } from '../../openwhisk-plugin/index.js';
import type { ClusterMode } from '../cluster/index.js';

/** Who is compared: a resource manager and activation policies, under the one name that comparisons call it by. */
export interface Contender {
  readonly name: string;
  readonly manager: string;
  /** False: nothing but OpenWhisk, no hook. */
  readonly safeguard: boolean;
  readonly quotaPolicy: string;
  readonly weightPolicy: string;
  /** Where it can do something; elsewhere it would be `fixed` under another name. */
  readonly modes: readonly ClusterMode[];
  /** `fixed` once more, with other draws: what noise alone does (design §7). */
  readonly redrawn?: 'placement' | 'everything';
}

/** No manager or policy to compare has this name. */
export class UnknownContenderError extends GleanerError {
  readonly code = 'GLN_CONTENDER_UNKNOWN';
}

/** Leaves a container at what its user has: the manager `fixed` wishes nothing else. */
const NEUTRAL = 'target';
const BOTH: readonly ClusterMode[] = ['weight', 'quota'];

export const FIXED: Contender = {
  name: 'fixed',
  manager: 'fixed',
  safeguard: false,
  quotaPolicy: NEUTRAL,
  weightPolicy: NEUTRAL,
  modes: BOTH,
};

/** Fixed against fixed. */
export const NOISE: readonly Contender[] = [
  { ...FIXED, name: 'fixed, other placement', redrawn: 'placement' },
  { ...FIXED, name: 'fixed, other arrivals', redrawn: 'everything' },
];

/** Choices without learning, which a learner must beat (faasrm.md §8). */
export const FLOORS: readonly string[] = ['smallest-in-range', 'random-in-range', 'largest-in-range'];

/** Every name that a comparison knows, `fixed` first. Policies that choose nothing by themselves are not among them. */
export function contenderNames(): string[] {
  const policies = policyNames.filter((name) => createPolicy(name).kind !== 'both');
  return ['fixed', ...managerNames.filter((name) => name !== 'fixed'), ...policies];
}

/**
 * The contender of a name: a manager decides by targets, a policy works beside the manager `fixed`; `manager+policy` names one of
 * each.
 *
 * @throws UnknownContenderError
 */
export function contender(name: string): Contender {
  const [first, second, ...rest] = name.split('+') as [string, ...string[]];
  if (first === 'fixed' && second === undefined) return FIXED;
  if (rest.length > 0 || (second !== undefined && !isManager(first))) throw unknown(name);
  if (second === undefined) {
    if (isManager(first)) return { ...FIXED, name, manager: first, safeguard: true };
    return { ...withPolicy(FIXED, first), name };
  }
  return { ...withPolicy({ ...FIXED, manager: first }, second), name, modes: BOTH };
}

function withPolicy(base: Contender, policy: string): Contender {
  const kind = policyNames.includes(policy) ? createPolicy(policy).kind : 'both';
  if (kind === 'both') throw unknown(policy);
  return kind === 'range'
    ? { ...base, safeguard: true, quotaPolicy: policy, modes: ['quota'] }
    : { ...base, safeguard: true, weightPolicy: policy, modes: ['weight'] };
}

const isManager = (name: string): boolean => (managerNames as readonly string[]).includes(name);

function unknown(name: string): UnknownContenderError {
  const meant = suggest(name, contenderNames());
  return new UnknownContenderError(`no manager or policy is called '${name}'`, {
    hint: `${meant === undefined ? '' : `Did you mean ${meant}? `}Names: ${contenderNames().join(', ')}; manager+policy names one of each.`,
  });
}

/**
 * Who runs in a mode: `fixed`, fixed against fixed, the floors where there are ranges, then those asked for, each once.
 *
 * @param names `all` stands for every name there is.
 * @throws UnknownContenderError
 */
export function lineUp(names: readonly string[], mode: ClusterMode): Contender[] {
  const asked = names.flatMap((name) => (name === 'all' ? contenderNames() : [name])).map(contender);
  const always = [FIXED, ...NOISE, ...FLOORS.map(contender)];
  const all = new Map([...always, ...asked].map((one) => [one.name, one]));
  return [...all.values()].filter(({ modes }) => modes.includes(mode));
}
