import type { Config, systemClock, systemTimers } from '../../config/index.js';
import type { Running } from '../child.js';
import type { makeLogger } from '../logger.js';
import type { Operating } from '../metrics/index.js';

export interface PartInputs {
  readonly config: Config;
  readonly logger: ReturnType<typeof makeLogger>;
  readonly clock: typeof systemClock;
  readonly timers: typeof systemTimers;
  /** Random name of this start of the process. */
  readonly boot: string;
  readonly hostName: string;
  /** Folder of the configuration file (or the working directory), where packages are searched. */
  readonly folder: string;
  /** The configuration file, absolute; null: none. */
  readonly configFile: string | null;
  /** Metrics and health: the part registers itself once it runs, and reports each beat. */
  readonly operating: Operating;
}

interface RunningPart extends Running {
  /** Takes what may change while it runs. */
  reconfigure?(config: Config): void;
  /** A reload was refused, and why, in one sentence; null: the newest one was taken. */
  reloaded?(problem: string | null): void;
}

/** Starts one long-running part. */
export type Part = (inputs: PartInputs) => Promise<RunningPart>;
