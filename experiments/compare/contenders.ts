import {
  type Config,
  defaultConfig,
  errorClass,
  managers,
  managerTable,
  type PolicyName,
  policyNames,
  policyTable,
  suggest,
} from '../../config/index.js';
import type { ClusterMode } from '../../simulator/engine/index.js';
import type { TrainedPolicy } from '../training/index.js';

/**
 * Who is compared: a resource manager and activation policies, under the one name that comparisons
 * call it by.
 */
export interface Contender {
  readonly name: string;
  readonly manager: string;
  /** False: nothing but OpenWhisk, no hook. */
  readonly safeguard: boolean;
  readonly quotaPolicy: string;
  readonly weightPolicy: string;
  /** Absent: managers and policies that learn are as shipped. */
  readonly trained?: TrainedPolicy;
  /** Modes in which it has an effect; in others it would equal `fixed`. */
  readonly modes: readonly ClusterMode[];
  /** `fixed` with other draws: shows the noise. */
  readonly redrawn?: 'placement' | 'everything';
}

/** No manager or policy to compare has this name. */
export class UnknownContenderError extends errorClass('GLN_CONTENDER_UNKNOWN') {}

/** Leaves containers at user limits under the manager `fixed`, which sets no target. */
const NEUTRAL = 'target';
const BOTH: readonly ClusterMode[] = ['weight', 'quota'];

/** Seeds of a second draw lie apart from all that are compared. */
export const REDRAWN = 1_000_000;

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

/** What an installation runs whose configuration names these managers and policies. */
export function configuredContender(
  name: string,
  { agents, decision }: Pick<Config, 'agents' | 'decision'>,
): Contender {
  const { quota, weight } = decision.policy;
  return {
    name,
    manager: agents.manager,
    safeguard: true,
    quotaPolicy: quota,
    weightPolicy: weight,
    modes: BOTH,
  };
}

/** What a new installation runs: the configuration's defaults. */
const DEFAULT: Contender = configuredContender('default', defaultConfig);

/** A policy of `gleaner train`, beside the activation policies that it was trained with. */
export function trainedContender(name: string, trained: TrainedPolicy): Contender {
  const { manager, mode } = trained;
  const decides =
    manager === 'faasrm'
      ? { manager: 'fixed', quotaPolicy: 'faasrm' }
      : { manager, quotaPolicy: NEUTRAL };
  return { ...DEFAULT, name, ...decides, trained, modes: [mode] };
}

/** Choices without learning, which a learner must beat. */
export const FLOORS: readonly string[] = [
  'smallest-in-range',
  'random-in-range',
  'largest-in-range',
];

/**
 * Every name that a comparison knows, `fixed` first. Policies that choose nothing by themselves are
 * not among them.
 */
export function contenderNames(): string[] {
  const policies = policyNames.filter((name) => policyTable[name].kind !== 'both');
  return ['fixed', 'default', ...managers.filter((name) => name !== 'fixed'), ...policies];
}

/**
 * The contender of a name: a manager decides by targets, a policy works beside the manager `fixed`.
 * Names joined by `+` make one contender: a manager, a policy for ranges and one for weights, in
 * this order.
 *
 * @throws UnknownContenderError
 */
export function contender(name: string): Contender {
  if (name === 'fixed') return FIXED;
  if (name === 'default') return DEFAULT;
  const parts = name.split('+');
  const [managerPart] = parts.filter((part) => Object.hasOwn(managerTable, part));
  const ranges = parts.filter((part) => kindOf(part) === 'range');
  const weights = parts.filter((part) => kindOf(part) === 'weight');
  const named = [managerPart, ranges[0], weights[0]];
  if (name === '' || named.filter((one) => one !== undefined).join('+') !== name)
    throw unknown(name);
  const [manager = 'fixed', quotaPolicy = NEUTRAL, weightPolicy = NEUTRAL] = named;
  const alone = parts.length === 1;
  const modes: readonly ClusterMode[] =
    alone && ranges.length > 0 ? ['quota'] : alone && weights.length > 0 ? ['weight'] : BOTH;
  return { name, manager, safeguard: true, quotaPolicy, weightPolicy, modes };
}

/** What a policy chooses; undefined: it is none, or chooses nothing by itself. */
function kindOf(name: string): 'range' | 'weight' | undefined {
  if (!Object.hasOwn(policyTable, name)) return undefined;
  const { kind } = policyTable[name as PolicyName];
  return kind === 'both' ? undefined : kind;
}

function unknown(name: string): UnknownContenderError {
  const meant = suggest(name, contenderNames());
  const suggestion = meant === undefined ? '' : `did you mean ${meant}? `;
  return new UnknownContenderError(name, suggestion, contenderNames().join(', '));
}

/**
 * Who runs in a mode: `fixed`, fixed against fixed, the shipped default, the floors if there are
 * ranges, then those asked for, each once.
 *
 * @param names `all` stands for every name there is.
 * @param added contenders that no name stands for
 * @throws UnknownContenderError
 */
export function lineUp(
  names: readonly string[],
  mode: ClusterMode,
  added: readonly Contender[] = [],
): Contender[] {
  const asked = names
    .flatMap((name) => (name === 'all' ? contenderNames() : [name]))
    .map(contender);
  const always = [FIXED, ...NOISE, DEFAULT, ...FLOORS.map(contender), ...added];
  const all = new Map([...always, ...asked].map((one) => [one.name, one]));
  return [...all.values()].filter(({ modes }) => modes.includes(mode));
}
