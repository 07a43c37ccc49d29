import { type Broker, services, subjects, wildcards } from '../../broker/index.js';
import {
  type AgentReport,
  type Announcement,
  decodeAgentReport,
  decodeAnnouncement,
  decodeEvent,
  decodeHostReport,
  decodeMeanField,
  decodeObservation,
  decodeTarget,
  type GleanerEvent,
  type Observation,
  withoutPart,
} from '../../broker/messages/index.js';
import { askEvery, callService, hookService, nextOffset } from '../../broker/services/index.js';
import { type Cancel, type Clock, messageOf, millis, type Timers } from '../../config/index.js';
import { featureText, reasonText } from '../../rules/index.js';
import {
  type ContentionView,
  type EventRow,
  type FunctionRow,
  KEPT_EVENTS,
  type NatsState,
  type ServiceRow,
  type SilentPart,
  type Totals,
} from '../wire.js';
import { ContentionWindow } from './contention-window.js';
import { FunctionRegistry } from './function-registry.js';
import { HostRegistry } from './host-registry.js';
import { MeanFieldHistory } from './mean-field-history.js';
import { Overview } from './overview.js';
import { queryServices, type Statistics } from './service-query.js';

export interface CollectorOptions {
  readonly broker: Broker;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Functions of a hook in one answer; a larger answer would delay the hook's tap. */
  readonly page?: number;
  readonly maxFunctions: number;
}

/** Functions per request: about 140 KB, and half a millisecond of the hook's time. */
const PAGE = 200;
const SECOND = 1000;
/** Seconds between requests to the hooks while no page is open; enough for the plots' history. */
const UNWATCHED_SECONDS = 10;
const DISCOVER_SECONDS = 5;
/** Two questions without an answer, also while no page is open. */
const SILENT_PART_SECONDS = 20;
/** A part that was stopped for good is a line for this long. */
const FORGET_PART_SECONDS = 3600;
const MINUTE = 60_000;
const WAITING_SHOWN = 14;

/** Collects what the dashboard shows: NATS messages, and answers of the services. Read-only. */
export class Collector {
  readonly functions: FunctionRegistry;
  readonly hosts = new HostRegistry();
  readonly overview: Overview;
  readonly meanField = new MeanFieldHistory();
  services: readonly ServiceRow[] = [];
  silentParts: readonly SilentPart[] = [];
  /** Open pages. Without any, the hooks are asked rarely. */
  watchers = 0;
  readonly #options: CollectorOptions;
  readonly #events: EventRow[] = [];
  readonly #waiting = new Map<string, ContentionWindow>();
  /** The last answer of each part, by service and host. */
  readonly #answered = new Map<string, { -readonly [K in keyof SilentPart]: SilentPart[K] }>();
  readonly #offsets = new Map<string, number>();
  readonly #cancels: Cancel[] = [];
  #nats: NatsState;
  #eventId = 0;
  #seconds = 0;
  #asking = false;

  constructor(options: CollectorOptions) {
    this.#options = options;
    this.functions = new FunctionRegistry(options.maxFunctions);
    this.overview = new Overview(this.functions, this.hosts);
    this.#nats = { connected: false, server: '', since: this.#now() / SECOND, problem: '' };
  }

  get nats(): NatsState {
    return this.#nats;
  }
  get events(): readonly EventRow[] {
    return this.#events;
  }

  start(): void {
    const { broker, timers } = this.#options;
    const listen = <T>(
      subject: string,
      decode: (data: Uint8Array) => { ok: true; message: T } | { ok: false },
      take: (message: T) => void,
    ): void => {
      const subscription = broker.subscribe(subject, ({ data }) => {
        const decoded = decode(data);
        if (decoded.ok) take(decoded.message);
      });
      this.#cancels.push(() => subscription.unsubscribe());
    };
    listen(wildcards.observations, decodeObservation, (message) => this.#observe(message));
    listen(wildcards.hostReports, decodeHostReport, (message) => {
      const entry = this.hosts.entry(message.host);
      entry.report = message;
      entry.seen = this.#now();
    });
    listen(wildcards.agentReports, decodeAgentReport, (message) => this.#agent(message));
    listen(wildcards.targets, decodeTarget, ({ function: name, author }) =>
      this.functions.get(name)?.setAgent(author.manager),
    );
    listen(subjects.meanField, decodeMeanField, (message) =>
      this.meanField.take(message, this.#now() / SECOND),
    );
    listen(wildcards.announcements, decodeAnnouncement, (message) => this.#announced(message));
    listen(wildcards.events, decodeEvent, (message) => this.#event(message));
    this.#cancels.push(
      broker.onStatus((status) => {
        const since = this.#now() / SECOND;
        if (status.kind === 'connected')
          this.#nats = { connected: true, server: shownServer(status.server), since, problem: '' };
        else if (status.kind === 'disconnected') {
          if (this.#nats.connected) this.#nats = { ...this.#nats, connected: false, since };
        } else if (status.kind === 'error')
          this.#nats = { ...this.#nats, problem: status.error.message };
        if (status.kind === 'connected') this.#seconds = 0;
      }),
      timers.every(millis(SECOND), () => void this.#second()),
    );
  }

  stop(): void {
    for (const cancel of this.#cancels.splice(0)) cancel();
  }

  waiting(): ContentionView[] {
    const now = this.#shownAt();
    return [...this.#waiting].map(([host, contention]) =>
      contention.view(host, now, WAITING_SHOWN),
    );
  }

  rows(): FunctionRow[] {
    const now = this.#shownAt();
    return [...this.functions.all()].flatMap((entry) => entry.row(now) ?? []);
  }

  totals(): Totals {
    return this.overview.totals(this.#shownAt());
  }

  /** Time of the state that is shown: now, or when NATS was lost, so that no window empties. */
  #shownAt(): number {
    return this.#nats.connected ? this.#now() : this.#nats.since * SECOND;
  }

  #now(): number {
    return this.#options.clock.wall() / 1000;
  }

  #observe(observation: Observation): void {
    const now = this.#now();
    const {
      host,
      function: name,
      activations,
      control,
      latency,
      coldLatency,
      cpuWait,
      used,
      throttledShare,
    } = observation;
    const entry = this.hosts.entry(host);
    entry.seen = now;
    entry.clock(observation.boot, observation.observedAt, now);
    const fn = this.functions.called(name);
    fn.observe(observation, now);
    const { objective = 'learning', slo = null } = fn.views.get(host) ?? {};
    if (slo !== null && objective !== 'learning')
      this.overview.judge(now, withoutPart(latency, coldLatency), slo);
    let contention = this.#waiting.get(host);
    if (contention === undefined) {
      contention = new ContentionWindow(MINUTE);
      this.#waiting.set(host, contention);
    }
    const ended = activations + control.activations;
    const busy = latency.sum + control.activations * control.mean;
    contention.take({
      at: now,
      function: name,
      waited: cpuWait === undefined ? null : cpuWait * ended,
      ran: (used.cpu / 1000) * busy,
      throttled: throttledShare * latency.sum,
      span: observation.span,
    });
  }

  #agent(report: AgentReport): void {
    const entry = this.functions.called(report.function);
    entry.setAgent(report.manager, report.phase);
    if (report.reward !== undefined) entry.reward(report.step, report.reward);
  }

  #event(event: GleanerEvent): void {
    this.#events.push({
      id: ++this.#eventId,
      // Time of receipt: hosts' clocks differ, and a simulated clock runs ahead.
      at: this.#now() / SECOND,
      kind: event.kind,
      function: event.function,
      host: event.host,
      resource: event.resource ?? null,
      before: event.before ?? null,
      after: event.after ?? null,
      reason: reasonText(event.reason),
    });
    if (this.#events.length > KEPT_EVENTS) this.#events.shift();
    if (event.kind === 'safeguard') this.overview.safeguard(this.#now());
  }

  async #second(): Promise<void> {
    const { broker } = this.#options;
    const second = this.#seconds++;
    if (
      broker.connected &&
      !this.#asking &&
      (this.watchers > 0 || second % UNWATCHED_SECONDS < 2)
    ) {
      this.#asking = true;
      try {
        if (second % DISCOVER_SECONDS === 0) await this.#discover();
        await Promise.all(this.#hooks().map((host) => this.#inspect(host)));
      } catch {
        // NATS was lost during the request. The page shows that; the next second asks again.
      } finally {
        this.#asking = false;
      }
    }
    if (!this.#nats.connected) return;
    const now = this.#now();
    for (const host of this.hosts.expire(now, this.#nats.since * SECOND)) {
      this.#forget(host);
      this.#waiting.delete(host);
      this.#offsets.delete(host);
    }
    for (const [host, contention] of this.#waiting)
      this.hosts.entry(host).waitShare = contention.share(now);
    this.overview.record(now);
  }

  #hooks(): string[] {
    return this.services.filter(({ service }) => service === services.hook).map(({ host }) => host);
  }

  async #discover(): Promise<void> {
    const { broker } = this.#options;
    const asked = this.#now() / SECOND;
    const [seen, agents, aggregators] = await Promise.all([
      queryServices(broker),
      askEvery(broker, 'agents', 'list', { offset: 0, limit: 0 }),
      askEvery(broker, 'aggregator', 'list'),
    ]);
    const isPaused = ({ service, host }: Statistics): boolean =>
      (service === services.agents && agents.answers.get(host)?.paused === true) ||
      (service === services.aggregator && aggregators.answers.get(host)?.paused === true);
    this.services = seen.map((row) => ({ ...row, paused: isPaused(row) }));
    this.#noteAnswers(this.services, asked);
    const phases: Record<string, number> = {};
    const managers: Record<string, number> = {};
    for (const answer of agents.answers.values()) {
      for (const [phase, count] of Object.entries(answer.phases))
        phases[phase] = (phases[phase] ?? 0) + count;
      for (const [manager, count] of Object.entries(answer.managers))
        managers[manager] = (managers[manager] ?? 0) + count;
      this.meanField.featureNames = answer.features.map(featureText);
    }
    this.overview.agents = { phases, managers };
  }

  #announced({ service, host, stopping, failure }: Announcement): void {
    const part = this.#answered.get(`${service} ${host}`);
    if (part === undefined) return;
    part.stopped = stopping ? this.#now() / SECOND : null;
    part.failure = (stopping && failure) || null;
  }

  /** `asked`: when they were. A part may have answered and then ended meanwhile. */
  #noteAnswers(answering: readonly ServiceRow[], asked: number): void {
    const now = this.#now() / SECOND;
    for (const { service, host } of answering) {
      const key = `${service} ${host}`;
      const { stopped = null, failure = null } = this.#answered.get(key) ?? {};
      const end =
        stopped !== null && stopped >= asked
          ? { stopped, failure }
          : { stopped: null, failure: null };
      this.#answered.set(key, { service, host, seen: now, ...end });
    }
    for (const [key, { seen }] of this.#answered)
      if (now - seen > FORGET_PART_SECONDS) this.#answered.delete(key);
    // Copies, so that one that is back is not shown as silent until it has answered.
    this.silentParts = [...this.#answered.values()]
      .filter(({ seen, stopped }) => stopped !== null || now - seen > SILENT_PART_SECONDS)
      .map((part) => ({ ...part }));
  }

  /** Requests one page of a hook's functions per second. */
  async #inspect(host: string): Promise<void> {
    const { broker, page = PAGE } = this.#options;
    const offset = this.#offsets.get(host) ?? 0;
    const request = { offset, limit: page, containers: 0 };
    const answer = await callService(broker, {
      service: services.hook,
      endpoint: 'inspect',
      host,
      request,
    }).catch(messageOf);
    const checked = hookService.inspect.answer.safeParse(answer);
    if (!checked.success) return;
    const { host: view, functions, total, events } = checked.data;
    const now = this.#now();
    const entry = this.hosts.entry(host);
    // Another start of the hook counts from zero.
    if (entry.view !== null && entry.view.boot !== view.boot) this.#forget(host);
    entry.view = view;
    entry.seen = now;
    for (const one of functions)
      this.functions.takeView(host, { ...one, killed: view.killed }, now, entry.clockRate);
    this.#offsets.set(host, nextOffset(request, total));
    this.overview.host(view, now, events.safeguard ?? 0);
  }

  #forget(host: string): void {
    this.functions.forget(host);
    this.overview.forget(host);
  }
}

/** Never a user or a password. */
const shownServer = (server: string): string => server.replace(/^(\w+:\/\/)?[^/@]*@/, '$1');
