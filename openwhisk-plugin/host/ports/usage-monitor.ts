import type { Bytes } from '../../../config/index.js';
import type { UsageSample } from '../../decision/index.js';
import type { ContainerInfo } from './container-engine.js';

export interface UsageProbe {
  /** Only the CPU counter, the cheapest reading; -1 when the cgroup is gone. */
  cpu(): number;
  /**
   * False when the cgroup is gone. `into` always belongs to this container: values that cannot have
   * changed since the last call are kept.
   */
  sample(into: UsageSample): boolean;
  /**
   * What is in use, as in a sample: cheaper than one, for a container that is idle; -1 when the
   * cgroup is gone.
   */
  workingSet(): number;
  resetPeak(): void;
  close(): void;
}

export interface UsageMonitor {
  open(container: ContainerInfo): UsageProbe;
  /** Memory in use on the whole host, less what the kernel can drop at once. */
  hostMemoryInUse(): Bytes;
}
