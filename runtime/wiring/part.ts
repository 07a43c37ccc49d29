import type { Config, systemClock, systemTimers } from '../../config/index.js';
import type { Running } from '../child.js';
import type { makeLogger } from '../logger.js';
import type { Operating } from '../metrics/index.js';

/** What every part is started with. */
export interface PartInputs {
  readonly config: Config;
  readonly logger: ReturnType<typeof makeLogger>;
  readonly clock: typeof systemClock;
  readonly timers: typeof systemTimers;
  /** Name of this start, drawn anew each time. */
  readonly boot: string;
  readonly hostName: string;
  /**
   * Of the configuration file, from which packages are looked for; the working directory where
   * there is none.
   */
  readonly folder: string;
  /**
   * Metrics and health; the part tells it of itself once it runs, and of every beat of its loop.
   */
  readonly operating: Operating;
}

/** Starts one long-running part; `reconfigure` takes what may change while it runs. */
export type Part = (
  inputs: PartInputs,
) => Promise<Running & { reconfigure?(config: Config): void }>;
