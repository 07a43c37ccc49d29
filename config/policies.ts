/** What a policy chooses: a limit within the safeguard's range, a CPU weight, or either. */
export type PolicyKind = 'range' | 'weight' | 'both';

/** The registry in openwhisk-plugin/decision/policies implements exactly these. */
export const policyTable = {
  target: { kind: 'both', about: "the agent's target, clipped to the range" },
  'short-first': {
    kind: 'weight',
    about: 'weight by expected CPU time: short activations first, long ones never starve',
  },
  gittins: {
    kind: 'weight',
    about: 'weight by attained service and the histogram of CPU times: most likely to end first',
  },
  'deadline-first': {
    kind: 'weight',
    about: 'gittins, and more for activations that are about to miss their objective',
  },
  'smallest-in-range': { kind: 'range', about: 'the least that the safeguard allows' },
  'largest-in-range': { kind: 'range', about: 'the most that the safeguard allows' },
  'random-in-range': { kind: 'range', about: 'any limit that the safeguard allows' },
  equal: { kind: 'weight', about: 'the same weight for every container' },
  memory: { kind: 'weight', about: "OpenWhisk's own weights, by memory" },
  faasrm: {
    kind: 'range',
    about: 'the option in the range that a trained network scores highest',
  },
  libra: {
    kind: 'range',
    about: 'demand by payload or histogram, loans ordered by expected end',
  },
  sfs: { kind: 'weight', about: 'the published SFS rule, as far as weights can express it' },
  alps: { kind: 'weight', about: 'the published ALPS rule, as far as weights can express it' },
  'shortest-remaining-first': {
    kind: 'weight',
    about: 'a bound: weight by the true remaining work, which only a simulator knows',
  },
} as const satisfies Record<string, { readonly kind: PolicyKind; readonly about: string }>;
export type PolicyName = keyof typeof policyTable;
export const policyNames = Object.keys(policyTable) as readonly PolicyName[];

/** The bound needs an oracle, so that no configuration can name it. */
type ConfiguredPolicy = Exclude<PolicyName, 'shortest-remaining-first'>;
type OfKind<Kind extends PolicyKind> = {
  [Name in ConfiguredPolicy]: (typeof policyTable)[Name]['kind'] extends Kind ? Name : never;
}[ConfiguredPolicy];

const configurable = policyNames.filter((name) => name !== 'shortest-remaining-first');
const without = (kind: PolicyKind): ConfiguredPolicy[] =>
  configurable.filter((name) => policyTable[name].kind !== kind);
export const quotaPolicies = without('weight') as readonly OfKind<'range' | 'both'>[];
export const weightPolicies = without('range') as readonly OfKind<'weight' | 'both'>[];
export const configuredPolicies: readonly ConfiguredPolicy[] = configurable;
