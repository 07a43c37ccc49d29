import { bytes, millicores } from '../../../config/index.js';
import { CFS_PERIOD_MICROS } from '../../../rules/index.js';
import { MIN_SHARES, NO_LIMIT, type UserLimits } from '../../decision/index.js';

/** CRI's `LinuxContainerResources`; 0: not set. CPU times in us. */
export interface Resources {
  readonly period: number;
  readonly quota: number;
  readonly shares: number;
  readonly memory: number;
  readonly memoryAndSwap: number;
}

/**
 * Limits in the kernel's units. `shares` are 1024 per requested core [Kubernetes
 * `MilliCPUToShares`], unlike those of OpenWhisk's Docker containers.
 */
export function limitsOf(resources: Resources): UserLimits {
  const periodMicros = resources.period > 0 ? resources.period : CFS_PERIOD_MICROS;
  const memory = Math.max(NO_LIMIT, resources.memory);
  return {
    // As kubelet, also without any CPU request.
    shares: Math.max(MIN_SHARES, resources.shares),
    quota: millicores(resources.quota > 0 ? (resources.quota / periodMicros) * 1000 : NO_LIMIT),
    memory: bytes(memory),
    // kubelet sets the sum, or no swap limit at all.
    memoryAndSwap: bytes(resources.memoryAndSwap > 0 ? resources.memoryAndSwap : NO_LIMIT),
    periodMicros,
    sharesAreRequest: true,
  };
}
