import type { Run } from '../../openwhisk-plugin/decision/index.js';
import type { ManagedHost } from './managed-host.js';
import { type OutcomeStatistics, Row } from './outcome-statistics.js';
import type { HarvestTotals } from './summary.js';

/** Totals of harvesting and lending, added up as activations end. CPU-ms and counts. */
export class HarvestCounts {
  trips = 0;
  revoked = 0;
  #control = 0;
  #harvested = 0;
  #accelerated = 0;
  #saved = 0;
  #activations = 0;
  #harvestedRuns = 0;
  #acceleratedRuns = 0;
  #borrowedRuns = 0;

  ended(fn: number, run: Run, outcomeStatistics: OutcomeStatistics): void {
    this.#activations++;
    if (run.control) this.#control++;
    this.#harvested += run.harvested;
    this.#accelerated += run.accelerated;
    this.#saved += run.saved;
    if (run.harvested > 0) this.#harvestedRuns++;
    if (run.accelerated > 0) this.#acceleratedRuns++;
    if (run.cpu.borrowed > 0 && run.container.mode === 'quota') this.#borrowedRuns++;
    outcomeStatistics.add(fn, Row.harvested, run.harvested);
    outcomeStatistics.add(fn, Row.accelerated, run.accelerated);
  }

  totals(hosts: readonly ManagedHost[]): HarvestTotals {
    const share = (runs: number): number => (this.#activations > 0 ? runs / this.#activations : 0);
    let borrowed = 0;
    let demand = 0;
    for (const host of hosts) {
      borrowed += host.borrowedIntegral;
      demand += host.demandIntegral;
    }
    return {
      harvestedCoreSeconds: this.#harvested / 1000,
      acceleratedCoreSeconds: this.#accelerated / 1000,
      // Millicore-ms.
      borrowedCoreSeconds: borrowed / 1e6,
      demandCoreSeconds: demand / 1e6,
      savedSeconds: this.#saved / 1000,
      harvestedShare: share(this.#harvestedRuns),
      acceleratedShare: share(this.#acceleratedRuns),
      borrowedShare: share(this.#borrowedRuns),
      trips: this.trips,
      control: this.#control,
      revoked: this.revoked,
    };
  }
}
