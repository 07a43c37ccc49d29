import { type Clock, type Millis, messageOf, StepTimes, type Timers } from '../../config/index.js';
import { newBootId } from '../boot-id.js';
import { Inbox, type InboxRefusal } from '../inbox.js';
import { Lease } from '../lease.js';
import { type Logger, silentLogger } from '../logger.js';
import type { MeanField } from '../messages/index.js';
import {
  decodeAgentsPartial,
  decodeAnnouncement,
  decodeHostReport,
  encodeMessage,
} from '../messages/index.js';
import type { Broker } from '../port.js';
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
}

export type RunningAggregator = ReturnType<typeof runAggregator>;

const LOOP_STEPS = ['publish'] as const;
/**
 * A successor publishes within 1.5 steps of this one's death: the lease is free after .75 of a
 * step, is checked every quarter of one, and the successor publishes at once.
 */
const LEASE_STEPS = 0.75;
const LEASE_MIN = 600;

/** Runs an aggregator until it is stopped. Of several, the holder of the lease publishes. */
export function runAggregator(run: AggregatorRun) {
  const {
    broker,
    clock,
    timers,
    host,
    boot = newBootId(),
    version = '0.0.0',
    logger = silentLogger,
  } = run;
  const step = run.intervalMs as Millis;
  const aggregator = new Aggregator({ host, boot, step });
  const directory = new InstanceDirectory();
  const refusals: Record<string, number> = {};
  const refused =
    (what: string) =>
    (kind: InboxRefusal, detail: string): void =>
      logger.warn({ kind, detail }, `${what} refused`);
  const partials = new Inbox({
    decode: decodeAgentsPartial,
    stamp: null,
    refused: refused('partial sums'),
  });
  const reports = new Inbox({
    decode: decodeHostReport,
    stamp: null,
    refused: refused('host report'),
  });
  const announcements = new Inbox({
    decode: decodeAnnouncement,
    stamp: null,
    refused: refused('announcement'),
  });
  const count = (refusal: AggregatorRefusal | null, from: string): void => {
    if (!refusal) return;
    // Its sender may be of another version, which announces nothing.
    directory.mayMiss(clock.monotonic());
    refusals[refusal] = (refusals[refusal] ?? 0) + 1;
    if (refusals[refusal] === 1)
      logger.warn({ kind: refusal, from }, 'message refused: the host is not in the totals');
  };
  let latest: MeanField | null = null;
  const steps = new StepTimes(LOOP_STEPS);
  let paused = false;

  const subscriptions = [
    broker.subscribe(wildcards.agentsPartials, (message) => {
      const now = clock.monotonic();
      const partial = partials.take(message.data, now);
      if (partial) count(aggregator.takePartial(partial, now), partial.host);
      else directory.mayMiss(now);
    }),
    broker.subscribe(wildcards.hostReports, (message) => {
      const now = clock.monotonic();
      const report = reports.take(message.data, now);
      if (report) count(aggregator.takeReport(report, now), report.host);
      else directory.mayMiss(now);
    }),
    broker.subscribe(wildcards.announcements, (message) => {
      const now = clock.monotonic();
      const announcement = announcements.take(message.data, now);
      if (announcement) directory.take(announcement, now);
      else directory.mayMiss(now);
    }),
  ];

  const lease = new Lease({
    bucket: broker.keyValue(buckets.leases),
    key: services.aggregator,
    host,
    boot,
    duration: Math.max(LEASE_MIN, step * LEASE_STEPS) as Millis,
    clock,
    timers,
    changed: (epoch) => {
      logger.info(
        { epoch },
        epoch === null ? 'another aggregator publishes' : 'publishing the mean field',
      );
      // The previous aggregator may have died just before its next step was due.
      const { agents, invokers } = aggregator.hosts(clock.monotonic());
      if (epoch !== null && agents.length + invokers.length > 0) publish();
    },
  });
  const publish = (): void => {
    steps.begin();
    const { epoch } = lease;
    if (epoch === null || paused) {
      latest = null;
      return;
    }
    latest = aggregator.step(clock.monotonic(), epoch);
    broker.publish(subjects.meanField, encodeMessage(latest));
    steps.ended('publish');
  };
  const start = (): void => void lease.turn();
  const cancelStatus = broker.onStatus((status) => {
    if (status.kind !== 'connected') return;
    directory.mayMiss(clock.monotonic());
    start();
  });

  const cancelStep = timers.every(step, () => {
    run.heartbeat?.();
    publish();
  });

  const state = () => {
    const now = clock.monotonic();
    const hosts = aggregator.hosts(now);
    return {
      host,
      publishing: lease.epoch !== null && !paused,
      epoch: lease.epoch,
      paused,
      refusals: {
        ...refusals,
        partials: partials.counts,
        reports: reports.counts,
        announcements: announcements.counts,
      },
      ...hosts,
      instances: directory.all(now, {
        [services.hook]: hosts.invokers,
        [services.agents]: hosts.agents,
      }),
    };
  };
  const endpoints = contractedEndpoints(aggregatorService, {
    list: state,
    inspect: () => ({ ...state(), meanField: latest }),
    explain: () => aggregator.explain(clock.monotonic()),
    pause: () => {
      paused = true;
      return state();
    },
    resume: () => {
      paused = false;
      return state();
    },
  });
  const description = 'sums agent hosts and invoker hosts to the mean field';
  const service = serve(
    broker,
    { name: services.aggregator, version, description, host, metadata: { boot }, endpoints },
    clock,
  );
  const { id } = service;
  const cancelAnnouncements = announce(broker, timers, { service: services.aggregator, host, id });

  return {
    steps,
    /** The last published mean field; null before the first, or while another one publishes. */
    get latest(): MeanField | null {
      return latest;
    },
    get publishing() {
      return lease.epoch !== null && !paused;
    },
    async stop() {
      cancelStep();
      cancelStatus();
      cancelAnnouncements();
      service.stop();
      for (const subscription of subscriptions) subscription.unsubscribe();
      await lease
        .release()
        .catch((error: unknown) => logger.warn({ error: messageOf(error) }, 'lease not released'));
    },
  };
}
