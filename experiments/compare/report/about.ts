/**
 * What each contender does, in a few words; names that are not here explain themselves by their
 * figures.
 */
export const ABOUT: Readonly<Record<string, string>> = {
  fixed: 'what users asked for and OpenWhisk does; no hook',
  greedy: 'a step down while a peak leaves room, a step up when it does not',
  ensure: 'more CPU where the last calls took long',
  hpa: 'containers by CPU utilization, as Kubernetes does',
  vpa: 'CPU and memory by percentiles of use, as Kubernetes does',
  'hpa-vpa': 'vertical first, then horizontal, as AWARE does',
  kpa: 'containers by concurrency, as Knative does',
  'right-size': "each action's nominal memory from its history, so that more warm containers fit",
  simppo:
    'per-function PPO that sees the others as one agent and pays the congestion price; trained policy, serving',
  'single-agent': 'the same PPO without the others and the price',
  faasrm: 'the option of the range that a trained network scores highest',
  libra: 'demand by payload or histogram, loans ordered by expected end',
  'short-first': 'weight by expected CPU time: short calls first, long ones never starve',
  equal: 'the same weight for every container',
  memory: "OpenWhisk's own weights, by memory",
  'shortest-remaining-first':
    'as far as weights can say it, by the true remaining work that only a simulator knows: a bound',
  sfs: 'the published SFS rule, as far as weights can say it',
  alps: 'the published ALPS rule, as far as weights can say it',
  'smallest-in-range': 'the least that the safeguard allows',
  'largest-in-range': 'the most that the safeguard allows',
  'random-in-range': 'anything that the safeguard allows',
};
