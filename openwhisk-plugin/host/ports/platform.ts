import type { Clock, Timers } from '../../../config/index.js';
import type { ContainerEngine } from './container-engine.js';
import type { LimitWriter } from './limit-writer.js';
import type { Tap } from './tap.js';
import type { UsageMonitor } from './usage-monitor.js';

/** All that the hook needs of a host, real or simulated (simulator/platform). */
export interface Platform {
  readonly name: 'host' | 'simulated';
  readonly clock: Clock;
  /** A clock that is never set, by which the tap stamps. Absent: `clock` is never set either. */
  readonly steady?: Clock;
  readonly timers: Timers;
  readonly engine: ContainerEngine;
  readonly tap: Tap;
  readonly limits: LimitWriter;
  readonly usage: UsageMonitor;
  /** Path of the lock of what only one hook of this machine may manage: the engine. */
  readonly engineLock?: string;
}
