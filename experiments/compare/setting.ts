import type { ClusterMode, SimulatedSettings } from '../../simulator/engine/index.js';
import { type Part, quantile, type Workload } from '../../simulator/workload/index.js';

/** What contenders meet in one section of a comparison. */
export interface Setting {
  /** Unique in a comparison. */
  readonly name: string;
  readonly workload: string;
  /** Minutes of the workload, as `gleaner train` takes them; absent: all. */
  readonly part?: Part;
  readonly functions?: number;
  /** Activations of each run, the workload repeated or cut; absent: all of it, once. */
  readonly activations?: number;
  readonly mode: ClusterMode;
  /** Offered load that the arrivals are stretched or compressed to. */
  readonly load: number;
  readonly hosts: number;
  readonly cores: number;
  readonly memoryMiB: number;
  readonly userMemoryMiB: number;
  /** `defaults`: users leave OpenWhisk's 256 MB, and take 512 and more only where they must. */
  readonly sizes: 'given' | 'defaults';
  /** What a configuration changes in the decision; absent: nothing. */
  readonly settings?: SimulatedSettings;
}

/** OpenWhisk's default limit, its standard maximum, and what larger installations allow. */
const DEFAULT_SIZES = [256, 512, 1024, 2048];

/** The same functions with the limits that users leave as they are. */
export function withDefaultSizes(workload: Workload): Workload {
  const sized = workload.functions.map((fn) => {
    const peak = quantile(fn.profile.memory.peakMiB, 1);
    return { ...fn, memoryMiB: DEFAULT_SIZES.find((size) => size >= peak) ?? fn.memoryMiB };
  });
  return { ...workload, functions: sized };
}
