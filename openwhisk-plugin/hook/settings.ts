import { type Bytes, type Config, type Millicores, mebibytes, millicores, millis } from '../../config/index.js';
import { type DecisionSettings, defaultDecisionSettings, freyrSettings, type HostCapacity } from '../decision/index.js';
import type { HostFacts } from '../ports/index.js';

/** The decision's constants as configured; the host's size is the cap where none is set. */
export function decisionSettings(
  decision: Config['decision'],
  sampleMillis: number,
  host: { readonly cpu: Millicores; readonly memory: Bytes },
): DecisionSettings {
  if (decision.preset !== 'default') return freyrSettings(decision.preset);
  const { weight, boost, memory } = decision;
  return {
    ...defaultDecisionSettings,
    thetaUser: decision.thetaUser,
    thetaSpike: decision.thetaSpike,
    spikeMargin: decision.spikeMargin,
    cpuUnit: millicores(decision.cpuUnitMillicores),
    cpuUnitShare: decision.cpuUnitShare,
    memoryUnit: mebibytes(decision.memoryUnitMiB),
    cpuCap: decision.cpuCapMillicores === null ? host.cpu : millicores(decision.cpuCapMillicores),
    memoryCap: decision.memoryCapMiB === null ? host.memory : mebibytes(decision.memoryCapMiB),
    cpuFloor: millicores(decision.cpuFloorMillicores),
    memoryFloor: mebibytes(decision.memoryFloorMiB),
    halfLife: millis(decision.peakHalfLifeS * 1000),
    minimumWindow: millis(decision.minWindowMs),
    controlShare: decision.controlShare,
    controlSamples: decision.controlSamples,
    sloFactor: decision.sloFactor,
    memoryPolicy: memory.policy,
    cpuReserve: millicores(decision.cpuReserveMillicores),
    memoryReserve: mebibytes(decision.memoryReserveMiB),
    alpha: weight.alpha,
    referenceCpuTime: millis(weight.referenceMs ?? 0),
    weightClampLow: weight.clampMin,
    weightClampHigh: weight.clampMax,
    payerBound: weight.payerBound,
    payloadAware: decision.payloadAware,
    boostFactor: boost.factor,
    boostTime: millis(boost.maxMs),
    oomHoldRuns: memory.oomHoldRuns,
    reactionTime: millis(Math.max(decision.reactionMs, sampleMillis)),
    concurrentStep: decision.concurrentStep,
    maxFunctions: decision.maxFunctions,
  };
}

/** What the host has to give: its own size, and of memory what its invokers may hand out, where that is configured. */
export function hostCapacity(facts: HostFacts, invokerMemoryMiB: number | null): HostCapacity {
  return {
    cpu: facts.cpu,
    allocatableCpu: facts.cpu,
    memory: facts.memory,
    allocatableMemory: invokerMemoryMiB === null ? facts.memory : mebibytes(invokerMemoryMiB),
  };
}
