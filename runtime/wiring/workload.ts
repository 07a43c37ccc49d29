import type { SimulatorConfig } from '../../config/index.js';
import { openWorkload, type Plan, planWorkload } from '../../simulator/workload/index.js';

/** By name or path, or the shipped one. Throws WorkloadError, TraceError. */
export function configuredPlan({ workload: name, seed }: SimulatorConfig): Plan {
  const { workload } = openWorkload(name ?? 'azure-ten', seed === null ? {} : { seed });
  return planWorkload(workload, seed ?? workload.seed);
}
