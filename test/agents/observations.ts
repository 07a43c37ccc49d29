import { LatencyHistogram, type Observation } from '../../broker/index.js';
import { type Bytes, MIB, type Millicores, type Millis } from '../../config/index.js';

/** An observation of a function that was given what it asked for: one core and 256 MiB; used half of each. */
export function observation(changes: Partial<Observation> = {}): Observation {
  const cpu = 1000 as Millicores;
  const memory = (256 * MIB) as Bytes;
  const latency = new LatencyHistogram();
  for (let i = 0; i < 20; i++) latency.record(100);
  return {
    v: 1,
    function: '/guest/hello',
    host: 'invoker-1',
    boot: 'hook-boot',
    step: 1,
    observedAt: 5000.5 as Millis,
    span: 10_000 as Millis,
    mode: 'enforce',
    cpuMode: 'quota',
    activations: 20,
    coldStarts: 0,
    failures: 0,
    oomKills: 0,
    running: 0,
    latency: latency.toMessage(),
    peak: { cpu: 500 as Millicores, memory: (128 * MIB) as Bytes },
    used: { cpu: 400 as Millicores, memory: (100 * MIB) as Bytes },
    throttledShare: 0,
    user: { cpu, memory, shares: 256 },
    granted: { cpu: { min: cpu, mean: cpu, max: cpu }, memory: { min: memory, mean: memory, max: memory } },
    wanted: { cpu, memory },
    containers: 2,
    concurrency: 1,
    control: { activations: 0, mean: 0, p99: 0 },
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
