import type { MeanField } from '../../broker/messages/index.js';
import { MEAN_FIELD_COLUMNS, type MeanFieldColumn, type MeanFieldRow } from '../wire.js';
import { Series } from './series.js';

const POINTS = 720;

/** The newest mean field and its history. */
export class MeanFieldHistory {
  readonly series = new Series<MeanFieldColumn>(MEAN_FIELD_COLUMNS, POINTS);
  /** From the agents' service; empty until it has answered. */
  featureNames: readonly string[] = [];
  #latest: MeanFieldRow | null = null;

  get latest(): MeanFieldRow | null {
    return this.#latest;
  }

  /** `at`: seconds. */
  take(field: MeanField, at: number): void {
    const { totals, capacity, hosts } = field;
    this.#latest = {
      at,
      publisher: field.host,
      epoch: field.epoch,
      members: totals.members,
      demandCpu: totals.demand.cpu,
      demandMemory: totals.demand.memory,
      containers: totals.allocated.containers,
      capacityCpu: capacity.cpu,
      capacityMemory: capacity.memory,
      features: this.#features(totals),
      hosts: hosts.map(({ host, occupancy, price }) => ({
        host,
        occupancyCpu: occupancy.cpu,
        occupancyMemory: occupancy.memory,
        priceCpu: price.cpu,
        priceMemory: price.memory,
      })),
      agentHosts: field.batches.length,
    };
    const worst = (of: (host: MeanField['hosts'][number]) => number): number =>
      hosts.reduce((most, host) => Math.max(most, of(host)), 0);
    this.series.push({
      at,
      occupancyCpu: worst(({ occupancy }) => occupancy.cpu),
      occupancyMemory: worst(({ occupancy }) => occupancy.memory),
      priceCpu: worst(({ price }) => price.cpu),
      priceMemory: worst(({ price }) => price.memory),
      members: totals.members,
    });
  }

  #features({ members, state, squares }: MeanField['totals']): MeanFieldRow['features'] {
    const count = Math.max(1, members);
    return state.map((sum, i) => {
      const mean = sum / count;
      const square = (squares[i] ?? 0) / count;
      return {
        name: this.featureNames[i] ?? `feature ${i + 1}`,
        mean,
        deviation: Math.sqrt(Math.max(0, square - mean * mean)),
      };
    });
  }
}
