import type { Bytes } from '../../../config/index.js';
import type { UsageSample } from '../../decision/index.js';
import type { ContainerInfo } from './container-engine.js';

export interface UsageProbe {
  /** Only the CPU counter, the cheapest reading; -1 when the cgroup is gone. */
  cpu(): number;
  /** False when the cgroup is gone. Keeps values of the last call that cannot have changed. */
  sample(into: UsageSample): boolean;
  /** Memory in use, as in a sample but cheaper, for an idle container; -1 when it is gone. */
  workingSet(): number;
  resetPeak(): void;
  close(): void;
}

export interface UsageMonitor {
  open(container: ContainerInfo): UsageProbe;
  /** Memory in use on the whole host, less what the kernel can drop at once. */
  hostMemoryInUse(): Bytes;
}
