import { syntheticObservation } from '../../bench/observation.js';
import { LatencyHistogram, type Observation } from '../../broker/messages/index.js';
import { type Bytes, MIB, type Millicores, type Millis } from '../../config/index.js';

/**
 * An observation of a function that was given what it asked for: one core and 256 MiB; used half of
 * each.
 */
export function observation(changes: Partial<Observation> = {}): Observation {
  const latency = new LatencyHistogram();
  for (let i = 0; i < 20; i++) latency.record(100);
  return {
    ...syntheticObservation('/guest/hello', 1),
    boot: 'hook-boot',
    observedAt: 5000.5 as Millis,
    latency: latency.toMessage(),
    containers: 2,
    ...changes,
  };
}

export const granted = (cpu: number, memoryMib: number): Observation['granted'] => {
  const c = cpu as Millicores;
  const m = (memoryMib * MIB) as Bytes;
  return { cpu: { min: c, mean: c, max: c }, memory: { min: m, mean: m, max: m } };
};
export const amounts = (cpu: number, memoryMib: number) => ({
  cpu: cpu as Millicores,
  memory: (memoryMib * MIB) as Bytes,
});
