import { LatencyHistogram, type Observation } from '../broker/messages/index.js';
import { type Millis, mebibytes, millicores, systemClock } from '../config/index.js';

const LATENCY = new LatencyHistogram().toMessage();
const cpu = millicores(1000);
const memory = mebibytes(256);
/**
 * One control step of a function on a host that does not exist: twenty activations in 10 s at their
 * user's limits.
 */
export const syntheticObservation = (fn: string, step: number): Observation => ({
  v: 1,
  function: fn,
  host: 'invoker-1',
  boot: 'bench-boot',
  step,
  observedAt: systemClock.monotonic(),
  span: 10_000 as Millis,
  mode: 'enforce',
  cpuMode: 'quota',
  activations: 20,
  coldStarts: 0,
  failures: 0,
  oomKills: 0,
  running: 0,
  latency: LATENCY,
  peak: { cpu: millicores(500), memory: mebibytes(128) },
  used: { cpu: millicores(400), memory: mebibytes(100) },
  throttledShare: 0,
  user: { cpu, memory, shares: 256 },
  granted: {
    cpu: { min: cpu, mean: cpu, max: cpu },
    memory: { min: memory, mean: memory, max: memory },
  },
  demand: { cpu, memory },
  containers: 1,
  concurrency: 1,
  control: { activations: 0, mean: 0, p99: 0 },
});
