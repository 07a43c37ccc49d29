import { mebibytes } from '../../config/index.js';
import type { HostCapacity } from '../decision/index.js';
import type { HostFacts } from '../host/ports/index.js';

/**
 * What the host has to give: its own size, and of memory what its invokers may hand out, where that
 * is configured.
 */
export function hostCapacity(facts: HostFacts, invokerMemoryMiB: number | null): HostCapacity {
  return {
    cpu: facts.cpu,
    allocatableCpu: facts.cpu,
    memory: facts.memory,
    allocatableMemory: invokerMemoryMiB === null ? facts.memory : mebibytes(invokerMemoryMiB),
  };
}
