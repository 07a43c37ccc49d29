import { suggest } from './suggest.js';

/** The registry in agents/managers implements exactly these. */
export const managerTable = {
  fixed: "the user's limits, so that policies decide alone; in comparisons: OpenWhisk alone",
  greedy: 'a step down while the peak leaves headroom, otherwise a step up',
  ensure: 'more CPU when the newest activations are slow',
  hpa: 'containers by CPU utilization, as in Kubernetes',
  vpa: 'CPU and memory by percentiles of use, as in Kubernetes',
  'hpa-vpa': 'vertical first, then horizontal, as in AWARE',
  kpa: 'containers by concurrency, as in Knative',
  'right-size': "each action's nominal memory from its history, so that more warm containers fit",
  'slo-market': 'a larger weight for functions whose activations it saves from being late',
  simppo:
    'one PPO agent per function that sees the others as one agent and pays the congestion price',
  'single-agent': 'the same PPO without the others and the price',
  aware: 'a fallback until an agent of the function has learned, then that agent, guarded',
} as const;
export type ManagerName = keyof typeof managerTable;
export const managers = Object.keys(managerTable) as readonly ManagerName[];

/** Prefix of a manager from an npm package. */
export const PACKAGE_PREFIX = 'package:';
const PACKAGE = /^package:(@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/;
const MODULE_PATH = /^(\.{0,2}\/).*\.(mjs|js)$/;

/** An external manager: `./my-manager.mjs`, or `package:my-manager`. */
export const isManagerModule = (name: string): boolean =>
  MODULE_PATH.test(name) || PACKAGE.test(name);

export const isManagerName = (name: string): boolean =>
  Object.hasOwn(managerTable, name) || isManagerModule(name);

/** What a name that is neither should have been. */
export function managerNameProblem(name: unknown): string {
  const near = typeof name === 'string' ? suggest(name, managers) : undefined;
  const hint = near === undefined ? '' : `; did you mean ${near}?`;
  return (
    `must be one of ${managers.join(', ')}, ` +
    `the path of a module (./my-manager.mjs) or package:NAME${hint}`
  );
}
