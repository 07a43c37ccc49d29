import type { Config, systemClock, systemTimers } from '../../config/index.js';
import type { Running } from '../child.js';
import type { makeLogger } from '../logger.js';

/** What every part is started with. */
export interface PartInputs {
  readonly config: Config;
  readonly logger: ReturnType<typeof makeLogger>;
  readonly clock: typeof systemClock;
  readonly timers: typeof systemTimers;
  /** Name of this start, drawn anew each time. */
  readonly boot: string;
  readonly hostName: string;
}

/** Starts one long-running part; `reconfigure` takes what may change while it runs. */
export type Part = (inputs: PartInputs) => Promise<Running & { reconfigure?(config: Config): void }>;
