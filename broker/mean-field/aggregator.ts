import type { z } from 'zod';
import type { Bytes, Millicores, Millis } from '../../config/index.js';
import { type OrderRefusal, SequenceGuard } from '../inbox.js';
import type { AgentsPartial, HostReport } from '../messages/index.js';
import {
  MEAN_FIELD_HOSTS_MAX,
  type MeanField,
  type MeanFieldHost,
  type PerResource,
} from '../messages/index.js';
import type { aggregatorService } from '../services/index.js';
import { addSums, emptySums } from './sums.js';

/** Highest price: beyond twice the available amount more demand does not change decisions. */
const PRICE_MAX = 1;
/** Occupancy of a host that has nothing available and some demand. */
const OCCUPANCY_MAX = 1000;
/** A host leaves the totals after this many of its intervals without a message: one may be lost. */
const SILENT_INTERVALS = 1.5;
/** The largest that can be configured, ms: no message may keep a dead host in the totals. */
const INTERVAL_MAX = 600_000;

export interface AggregatorOptions {
  readonly host: string;
  readonly boot: string;
  readonly step: Millis;
}

interface Agents {
  readonly partial: AgentsPartial;
  readonly at: number;
  readonly leaveAfter: number;
}

interface Invoker {
  readonly report: HostReport;
  readonly at: number;
  readonly leaveAfter: number;
}

export type AggregatorRefusal = OrderRefusal | 'too_many_hosts' | 'other_features';

/** Occupancy = demand / available; both in the resource's unit. */
export function occupancyOf(demand: number, available: number): number {
  if (demand <= 0) return 0;
  return Math.min(OCCUPANCY_MAX, demand / available);
}

/** The clipped excess of occupancy over 1. */
export const priceOf = (occupancy: number): number =>
  Math.min(PRICE_MAX, Math.max(0, occupancy - 1));

const occupancyIn = ({ demand, available }: HostReport): PerResource => ({
  cpu: occupancyOf(demand.cpu, available.cpu),
  memory: occupancyOf(demand.memory, available.memory),
});
const pricesOf = ({ cpu, memory }: PerResource): PerResource => ({
  cpu: priceOf(cpu),
  memory: priceOf(memory),
});

/** Sums again from one batch per host at each step, so that no message counts twice. Pure. */
export class Aggregator {
  readonly #options: AggregatorOptions;
  readonly #agents = new Map<string, Agents>();
  readonly #invokers = new Map<string, Invoker>();
  readonly #agentOrder = new SequenceGuard(MEAN_FIELD_HOSTS_MAX * 2);
  readonly #invokerOrder = new SequenceGuard(MEAN_FIELD_HOSTS_MAX * 2);
  #sequence = 0;
  #lastExpiryCheck = Number.NaN;

  constructor(options: AggregatorOptions) {
    this.#options = options;
  }

  /** Null if it is taken. */
  takePartial(partial: AgentsPartial, now: Millis): AggregatorRefusal | null {
    this.#leave(now);
    const known = this.#agents.get(partial.host);
    if (!known && this.#agents.size >= MEAN_FIELD_HOSTS_MAX) return 'too_many_hosts';
    if (!this.#sameFeatures(partial)) return 'other_features';
    const refusal = this.#agentOrder.check({ ...partial, sender: partial.host });
    if (refusal) return refusal;
    const leaveAfter = this.#leaveAfter(partial.interval);
    this.#agents.set(partial.host, { partial, at: now, leaveAfter });
    return null;
  }

  takeReport(report: HostReport, now: Millis): AggregatorRefusal | null {
    this.#leave(now);
    if (!this.#invokers.has(report.host) && this.#invokers.size >= MEAN_FIELD_HOSTS_MAX)
      return 'too_many_hosts';
    const refusal = this.#invokerOrder.check({ ...report, sender: report.host });
    if (refusal) return refusal;
    const leaveAfter = this.#leaveAfter(report.interval);
    this.#invokers.set(report.host, { report, at: now, leaveAfter });
    return null;
  }

  step(now: Millis, epoch: number): MeanField {
    this.#leave(now);
    const totals = emptySums();
    const batches: MeanField['batches'] = [];
    for (const { partial } of this.#agents.values()) {
      const { host, boot, sequence, sums } = partial;
      addSums(totals, sums);
      batches.push({ host, boot, sequence });
    }
    const capacity = { cpu: 0 as Millicores, memory: 0 as Bytes };
    const hosts: MeanField['hosts'] = [];
    for (const [host, { report }] of this.#invokers) {
      capacity.cpu = (capacity.cpu + report.capacity.cpu) as Millicores;
      capacity.memory = (capacity.memory + report.capacity.memory) as Bytes;
      const occupancy = occupancyIn(report);
      const { pressure, weights } = report;
      const entry: MeanFieldHost = { host, occupancy, price: pricesOf(occupancy) };
      if (pressure !== undefined) entry.pressure = pressure;
      if (weights !== undefined) entry.weights = weights;
      if (this.#invokers.size > 1 && report.functions > 0)
        entry.functionDemand = Math.round(report.demand.cpu / report.functions);
      hosts.push(entry);
    }
    const { host, boot } = this.#options;
    return {
      v: 1,
      host,
      boot,
      sequence: ++this.#sequence,
      epoch,
      totals,
      capacity,
      hosts,
      batches,
    };
  }

  hosts(now: Millis): { agents: string[]; invokers: string[] } {
    this.#leave(now);
    return { agents: [...this.#agents.keys()], invokers: [...this.#invokers.keys()] };
  }

  explain(now: Millis): z.output<typeof aggregatorService.explain.answer> {
    this.#leave(now);
    return {
      agents: [...this.#agents].map(([host, { partial, at, leaveAfter }]) => ({
        host,
        age: (now - at) as Millis,
        leavesAfter: leaveAfter as Millis,
        sums: partial.sums,
      })),
      invokers: [...this.#invokers].map(([host, { report, at, leaveAfter }]) => {
        const occupancy = occupancyIn(report);
        return {
          host,
          age: (now - at) as Millis,
          leavesAfter: leaveAfter as Millis,
          occupancy,
          price: pricesOf(occupancy),
          report,
        };
      }),
    };
  }

  #leave(now: Millis): void {
    if (now === this.#lastExpiryCheck) return;
    this.#lastExpiryCheck = now;
    for (const [host, agents] of this.#agents)
      if (now - agents.at > agents.leaveAfter) this.#agents.delete(host);
    for (const [host, invoker] of this.#invokers)
      if (now - invoker.at > invoker.leaveAfter) this.#invokers.delete(host);
  }

  #leaveAfter(interval = 0): number {
    return SILENT_INTERVALS * Math.max(this.#options.step, Math.min(interval, INTERVAL_MAX));
  }

  /** Features of different widths cannot be added: the width of the hosts in the totals counts. */
  #sameFeatures(partial: AgentsPartial): boolean {
    if (partial.sums.members === 0) return true;
    for (const { partial: one } of this.#agents.values()) {
      const { sums } = one;
      if (one.host === partial.host || sums.members === 0) continue;
      return (
        sums.state.length === partial.sums.state.length &&
        sums.actions.length === partial.sums.actions.length
      );
    }
    return true;
  }
}
