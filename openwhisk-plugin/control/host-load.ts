import type { HostReport } from '../../broker/messages/index.js';
import { Demand } from './demand.js';
import { MeanLevel } from './mean-level.js';
import { amounts } from './observation.js';

/** What a host reports of its load: means since its last report. */
export type ReportedLoad = Pick<HostReport, 'demand' | 'pressure' | 'weights'>;

/** The load of one host between two of its reports. */
export class HostLoad {
  readonly demand = new Demand();
  /** Sum of the weights in force of the containers in which something runs. */
  readonly weights = new MeanLevel();
  #waited = 0;
  /** The kernel reports waiting. */
  #waits = false;
  #since = Number.NaN;

  /** A container has waited for a CPU: time runnable without one, ms. */
  addWait(millis: number): void {
    this.#waited += millis;
    this.#waits = true;
  }

  /** `cores`: of the host, in millicores. */
  take(cores: number, now: number): ReportedLoad {
    const { demand, weights } = this;
    const asked = demand.take(now);
    const load: ReportedLoad = {
      demand: amounts(asked.cpu, asked.memory),
      weights: weights.take(now),
    };
    const span = now - this.#since;
    // NaN before the first report.
    if (this.#waits && span > 0 && cores > 0) load.pressure = (1000 * this.#waited) / span / cores;
    this.#waited = 0;
    this.#since = now;
    return load;
  }
}
