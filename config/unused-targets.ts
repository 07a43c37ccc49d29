import { isManagerModule, type ManagerName, managerTable } from './managers.js';
import { type PolicyName, policyTable } from './policies.js';
import type { Config } from './schema.js';

/** Their decisions have no amount of CPU: containers, nominal memory, weight factors or nothing. */
const WITHOUT_CPU: readonly ManagerName[] = ['fixed', 'hpa', 'kpa', 'right-size', 'slo-market'];

const decidesCpu = (manager: string): boolean =>
  isManagerModule(manager) ||
  (Object.hasOwn(managerTable, manager) && !WITHOUT_CPU.includes(manager as ManagerName));

/**
 * Keys whose manager's targets never become a CPU quota, since the range policy beside it chooses
 * without them; a sentence each. Not an error: in weight mode no container has a quota.
 */
export function unusedTargets({ agents, decision, functions }: Config): string[] {
  const ranges = (policy: PolicyName | undefined): string =>
    policy !== undefined && policyTable[policy].kind !== 'weight' ? policy : decision.policy.quota;
  const pairs = [
    { key: 'agents.manager', manager: agents.manager, policy: decision.policy.quota },
    ...functions.overrides.flatMap(({ manager, policy }, i) =>
      manager === undefined
        ? []
        : [{ key: `functions.overrides.${i}.manager`, manager, policy: ranges(policy) }],
    ),
  ];
  return pairs
    .filter(({ manager, policy }) => decidesCpu(manager) && policy !== 'target')
    .map(
      ({ key, manager, policy }) =>
        `${key}: CPU quotas do not follow ${manager}, because policy ${policy} chooses them; ` +
        'set decision.policy.quota: target',
    );
}
