import { managerTable, policyTable } from '../../../config/index.js';

/** What a contender does, in a few words; undefined for a combination or a variant. */
export function aboutOf(name: string): string | undefined {
  const policies: Readonly<Record<string, { readonly about: string }>> = policyTable;
  const managers: Readonly<Record<string, string>> = managerTable;
  return managers[name] ?? policies[name]?.about;
}
