import { type Clock, type Millis, messageOf, StepTimes, type Timers } from '../../config/index.js';
import { newBootId } from '../boot-id.js';
import { Inbox } from '../inbox.js';
import { Lease } from '../lease.js';
import { type Logger, silentLogger } from '../logger.js';
import {
  type AgentsPartial,
  type Announcement,
  type Decode,
  decodeAgentsPartial,
  decodeAnnouncement,
  decodeHostReport,
  encodeMessage,
  type HostReport,
  type MeanField,
} from '../messages/index.js';
import type { Broker, BrokerMessage } from '../port.js';
import {
  aggregatorService,
  announce,
  contractedEndpoints,
  InstanceDirectory,
  serve,
} from '../services/index.js';
import { buckets, services, subjects, wildcards } from '../subjects.js';
import { Aggregator, type AggregatorRefusal } from './aggregator.js';

export interface AggregatorRun {
  readonly broker: Broker;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly intervalMs: number;
  readonly host: string;
  readonly boot?: string;
  readonly version?: string;
  readonly logger?: Logger;
  /** Called by the loop at each step, for health checks. */
  readonly heartbeat?: () => void;
  /** The fault that ends this process; null: it ends in order. */
  readonly failure?: () => string | null;
}

export interface RunningAggregator {
  readonly steps: StepTimes<(typeof LOOP_STEPS)[number]>;
  /** The last published mean field; null before the first, or while another one publishes. */
  readonly latest: MeanField | null;
  readonly publishing: boolean;
  /** By an operator: nothing is published until it is resumed. */
  readonly paused: boolean;
  stop(): Promise<void>;
}

const LOOP_STEPS = ['publish'] as const;
/**
 * A successor publishes within 1.5 steps of this one's death: the lease is free after .75 of a
 * step, is checked every quarter of one, and the successor publishes at once.
 */
const LEASE_STEPS = 0.75;
const LEASE_MIN = 600;

/** Runs an aggregator until it is stopped. Of several, the holder of the lease publishes. */
export function runAggregator(run: AggregatorRun): RunningAggregator {
  return new AggregatorLoop(run);
}

/** Receives the messages, and publishes the sums at each step while it holds the lease. */
class AggregatorLoop implements RunningAggregator {
  readonly steps = new StepTimes(LOOP_STEPS);
  readonly #run: AggregatorRun;
  readonly #boot: string;
  readonly #logger: Logger;
  readonly #aggregator: Aggregator;
  readonly #directory = new InstanceDirectory(({ service, host }) =>
    this.#logger.warn(
      { service, host },
      'two instances share one host name: give each another name (hook.hostName, agents.hostName)',
    ),
  );
  readonly #refusals: Record<string, number> = {};
  readonly #partials: Inbox<AgentsPartial>;
  readonly #reports: Inbox<HostReport>;
  readonly #announcements: Inbox<Announcement>;
  readonly #lease: Lease;
  /** Ends what the loop has begun, in this order. */
  readonly #endings: readonly (() => void)[];
  #latest: MeanField | null = null;
  #paused = false;

  constructor(run: AggregatorRun) {
    const { broker, clock, timers, host, boot = newBootId(), logger = silentLogger } = run;
    const step = run.intervalMs as Millis;
    this.#run = run;
    this.#boot = boot;
    this.#logger = logger;
    this.#aggregator = new Aggregator({ host, boot, step });
    this.#partials = this.#inbox(decodeAgentsPartial, 'partial sums');
    this.#reports = this.#inbox(decodeHostReport, 'host report');
    this.#announcements = this.#inbox(decodeAnnouncement, 'announcement');
    const subscriptions = [
      broker.subscribe(wildcards.agentsPartials, (message) => this.#takePartial(message)),
      broker.subscribe(wildcards.hostReports, (message) => this.#takeReport(message)),
      broker.subscribe(wildcards.announcements, (message) => this.#takeAnnouncement(message)),
    ];
    this.#lease = new Lease({
      bucket: broker.keyValue(buckets.leases),
      key: services.aggregator,
      host,
      boot,
      duration: Math.max(LEASE_MIN, step * LEASE_STEPS) as Millis,
      clock,
      timers,
      changed: (epoch) => this.#leaseChanged(epoch),
    });
    const cancelStatus = broker.onStatus((status) => {
      if (status.kind !== 'connected') return;
      this.#directory.mayMiss(clock.monotonic());
      void this.#lease.turn();
    });
    const cancelStep = timers.every(step, () => {
      run.heartbeat?.();
      this.#publish();
    });
    this.#endings = [
      cancelStep,
      cancelStatus,
      ...this.#serve(),
      ...subscriptions.map((subscription) => () => subscription.unsubscribe()),
    ];
  }

  get latest(): MeanField | null {
    return this.#latest;
  }

  get publishing(): boolean {
    return this.#lease.epoch !== null && !this.#paused;
  }

  async stop(): Promise<void> {
    for (const end of this.#endings) end();
    await this.#lease
      .release()
      .catch((error: unknown) =>
        this.#logger.warn({ error: messageOf(error) }, 'lease not released'),
      );
  }

  #inbox<T>(decode: Decode<T>, what: string): Inbox<T> {
    return new Inbox({
      decode,
      stamp: null,
      refused: (kind, detail) => this.#logger.warn({ kind, detail }, `${what} refused`),
    });
  }

  #takePartial({ data }: BrokerMessage): void {
    const now = this.#run.clock.monotonic();
    const partial = this.#partials.take(data, now);
    if (partial) this.#count(this.#aggregator.takePartial(partial, now), partial.host);
    else this.#directory.mayMiss(now);
  }

  #takeReport({ data }: BrokerMessage): void {
    const now = this.#run.clock.monotonic();
    const report = this.#reports.take(data, now);
    if (report) this.#count(this.#aggregator.takeReport(report, now), report.host);
    else this.#directory.mayMiss(now);
  }

  #takeAnnouncement({ data }: BrokerMessage): void {
    const now = this.#run.clock.monotonic();
    const announcement = this.#announcements.take(data, now);
    if (announcement) this.#directory.take(announcement, now);
    else this.#directory.mayMiss(now);
  }

  #count(refusal: AggregatorRefusal | null, from: string): void {
    if (!refusal) return;
    // Its sender may be of another version, which announces nothing.
    this.#directory.mayMiss(this.#run.clock.monotonic());
    this.#refusals[refusal] = (this.#refusals[refusal] ?? 0) + 1;
    if (this.#refusals[refusal] === 1)
      this.#logger.warn({ kind: refusal, from }, 'message refused: the host is not in the totals');
  }

  #leaseChanged(epoch: number | null): void {
    this.#logger.info(
      { epoch },
      epoch === null
        ? 'not publishing: the lease was lost, or another aggregator has it'
        : 'publishing the mean field',
    );
    // The previous aggregator may have died just before its next step was due.
    const { agents, invokers } = this.#aggregator.hosts(this.#run.clock.monotonic());
    if (epoch !== null && agents.length + invokers.length > 0) this.#publish();
  }

  #publish(): void {
    this.steps.begin();
    const { epoch } = this.#lease;
    if (epoch === null || this.#paused) {
      this.#latest = null;
      return;
    }
    const { broker, clock } = this.#run;
    this.#latest = this.#aggregator.step(clock.monotonic(), epoch);
    broker.publish(subjects.meanField, encodeMessage(this.#latest));
    this.steps.ended('publish');
  }

  /** Announces the service. Returns what ends it. */
  #serve(): (() => void)[] {
    const { broker, clock, timers, host, version = '0.0.0' } = this.#run;
    const endpoints = contractedEndpoints(aggregatorService, {
      list: () => this.#state(),
      inspect: () => ({ ...this.#state(), meanField: this.#latest }),
      explain: () => this.#aggregator.explain(clock.monotonic()),
      pause: () => this.#pause(true),
      resume: () => this.#pause(false),
    });
    const description = 'sums agent hosts and invoker hosts to the mean field';
    const metadata = { boot: this.#boot };
    const service = serve(
      broker,
      { name: services.aggregator, version, description, host, metadata, endpoints },
      clock,
    );
    const { id } = service;
    const cancelAnnouncements = announce(
      broker,
      timers,
      {
        service: services.aggregator,
        host,
        id,
      },
      this.#run.failure,
    );
    return [cancelAnnouncements, () => service.stop()];
  }

  get paused(): boolean {
    return this.#paused;
  }

  #pause(paused: boolean) {
    this.#paused = paused;
    return this.#state();
  }

  #state() {
    const now = this.#run.clock.monotonic();
    const hosts = this.#aggregator.hosts(now);
    return {
      host: this.#run.host,
      publishing: this.publishing,
      epoch: this.#lease.epoch,
      paused: this.#paused,
      refusals: {
        ...this.#refusals,
        partials: this.#partials.counts,
        reports: this.#reports.counts,
        announcements: this.#announcements.counts,
      },
      ...hosts,
      instances: this.#directory.all(now, {
        [services.hook]: hosts.invokers,
        [services.agents]: hosts.agents,
      }),
      failed: this.#directory.failed(now),
    };
  }
}
