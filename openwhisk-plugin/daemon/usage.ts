import type { Micros, Millis } from '../../config/index.js';
import type { Activation, UsagePort } from '../control/index.js';
import type { UsageSample } from '../decision/index.js';
import type { Container } from './containers.js';

/**
 * Maximum age of a reading that is reused at an activation's end or the next one's start, ms: a
 * full reading costs as much as the rest of the end. Peaks and kills are counters, so nothing is
 * lost.
 */
const SETTLED_MILLIS = 100;

/** Reads the containers' counters around activations, and sums up the CPU use of the host. */
export class UsageReader implements UsagePort<Container> {
  /** CPU time of containers while they ran activations, since the start, us. */
  usedCpu = 0;

  atStart({ container, run }: Activation<Container>, now: Millis): void {
    const isIdle = container.running <= 1 && container.cpuCounter >= 0;
    const isRecent = isIdle && now - container.cpuCounterAt < SETTLED_MILLIS;
    run.startCpu = (isRecent ? container.cpuCounter : container.probe.cpu()) as Micros;
    if (isIdle) run.lateCpu = Math.max(0, run.startCpu - container.cpuCounter) as Micros;
    this.add(container, run.startCpu);
  }

  atEnd(activation: Activation<Container>, now: Millis): UsageSample | null {
    const { container, run, reason, status } = activation;
    const isSuccess = reason === 'answer' && status >= 200 && status < 300;
    const isRecent = isSuccess && now - container.sample.at < SETTLED_MILLIS;
    const isSampled = !isRecent && container.probe.sample(container.sample);
    run.endCpu = (isSampled ? container.sample.cpu : container.probe.cpu()) as Micros;
    container.cpuCounter = run.endCpu;
    container.cpuCounterAt = now;
    this.add(container, run.endCpu);
    return isSampled ? container.sample : null;
  }

  resetPeak(container: Container): void {
    container.probe.resetPeak();
  }

  /** Adds the growth of the container's counter to the sum; -1 = unknown. */
  add(container: Container, counter: number): void {
    if (counter < 0) return;
    if (container.cpuSummed >= 0 && counter > container.cpuSummed)
      this.usedCpu += counter - container.cpuSummed;
    container.cpuSummed = counter;
  }
}
