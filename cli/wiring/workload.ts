import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { SimulatorConfig } from '../../config/index.js';
import { type Plan, parseWorkload, planWorkload } from '../../simulator/index.js';

/** Beside the sources, seen from dist/cli/wiring. */
const SHIPPED = fileURLToPath(new URL('../../../simulator/workload/shipped/azure-ten.json', import.meta.url));

/** Every call of the configured workload, or of the shipped one. Throws WorkloadError with every problem. */
export function configuredPlan({ workload, seed }: SimulatorConfig): Plan {
  const path = workload ?? SHIPPED;
  const parsed = parseWorkload(readFileSync(path, 'utf8'), path);
  return planWorkload(parsed, seed ?? parsed.seed);
}
