import { readFileSync } from 'node:fs';
import { messageOf } from '../../config/index.js';
import { parseWorkload, type Workload, WorkloadError } from './workload.js';

/** Workloads that come with the product; README.md says how each was made. */
const SHIPPED_WORKLOADS = ['azure-ten'] as const;

export type ShippedWorkload = (typeof SHIPPED_WORKLOADS)[number];

/** The data lies beside the sources and is not compiled: the same folder seen from dist/. */
const FOLDER = new URL('../../../simulator/workload/shipped/', import.meta.url);

export function shippedWorkload(name: ShippedWorkload = 'azure-ten'): Workload {
  return loadWorkload(new URL(`${name}.json`, FOLDER));
}

/** Reads and validates a workload file. @throws WorkloadError */
export function loadWorkload(path: string | URL): Workload {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new WorkloadError(String(path), [messageOf(error)]);
  }
  return parseWorkload(text, String(path));
}
