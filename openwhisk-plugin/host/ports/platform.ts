import type { Clock, Timers } from '../../../config/index.js';
import type { ContainerEngine } from './container-engine.js';
import type { LimitWriter } from './limit-writer.js';
import type { Tap } from './tap.js';
import type { UsageMonitor } from './usage-monitor.js';

/**
 * All that the hook needs of a host. Implemented by the real host and by the simulated one
 * (simulator/platform).
 */
export interface Platform {
  readonly name: 'host' | 'simulated';
  readonly clock: Clock;
  /**
   * Its `wall()` is never set: the stamps of the tap are by it. Absent: `clock` is never set
   * either.
   */
  readonly steady?: Clock;
  readonly timers: Timers;
  readonly engine: ContainerEngine;
  readonly tap: Tap;
  readonly limits: LimitWriter;
  readonly usage: UsageMonitor;
  /**
   * What only one hook of this machine may manage, e.g. the engine's socket; absent: no other
   * could.
   */
  readonly exclusive?: string;
}
