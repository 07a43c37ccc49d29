import type { ServerResponse } from 'node:http';
import type { Clock } from '../../config/index.js';
import type { FunctionRow, Pages, Snapshot, Tick } from '../wire.js';
import type { Collector } from './collector.js';

/** Bytes waiting for a slow page beyond which it misses ticks; it gets a new snapshot later. */
const BACKLOG_MAX = 4 * 1024 * 1024;
export const WATCHERS_MAX = 32;
/**
 * A page that has read nothing of its backlog for this time is closed. A browser that was asleep
 * reconnects.
 */
const DEAD_MILLIS = 120_000;

interface Watcher {
  readonly response: ServerResponse;
  behind: boolean;
  /** Bytes sent at the last tick, and since when none of the backlog was sent. */
  taken: number;
  stalledSince: number;
}

/** Server-sent events: a snapshot for each new page, then the changes once a second. */
export class Stream {
  readonly #collector: Collector;
  readonly #clock: Clock;
  readonly #facts: { readonly version: string; readonly writable: boolean };
  readonly #watchers = new Set<Watcher>();
  /** Last sent row of each function as text; unchanged rows are not sent again. */
  readonly #rows = new Map<string, string>();
  #missedTicks = 0;
  #dead = 0;
  #eventId = 0;
  #overviewAt = 0;
  #fieldAt = 0;
  #services = '';
  #waiting = '';

  constructor(
    collector: Collector,
    clock: Clock,
    facts: { readonly version: string; readonly writable: boolean },
  ) {
    this.#collector = collector;
    this.#clock = clock;
    this.#facts = facts;
  }

  get pages(): Pages {
    return { open: this.#watchers.size, missedTicks: this.#missedTicks, dead: this.#dead };
  }

  add(response: ServerResponse): void {
    const watcher: Watcher = {
      response,
      behind: false,
      taken: 0,
      stalledSince: this.#clock.monotonic(),
    };
    this.#watchers.add(watcher);
    this.#collector.watchers = this.#watchers.size;
    response.on('close', () => {
      this.#watchers.delete(watcher);
      this.#collector.watchers = this.#watchers.size;
    });
    response.write(message('snapshot', this.snapshot()));
  }

  close(): void {
    for (const { response } of this.#watchers) response.end();
    this.#watchers.clear();
  }

  /** Called once a second. */
  tick(): void {
    if (this.#watchers.size === 0) return;
    const text = message('tick', this.#changes());
    for (const watcher of this.#watchers) {
      if (this.#isDead(watcher)) {
        this.#dead++;
        this.#watchers.delete(watcher);
        watcher.response.destroy();
      } else if (watcher.response.writableLength > BACKLOG_MAX) {
        watcher.behind = true;
        this.#missedTicks++;
      } else if (watcher.behind) {
        watcher.behind = false;
        watcher.response.write(message('snapshot', this.snapshot()));
      } else watcher.response.write(text);
    }
  }

  #isDead(watcher: Watcher): boolean {
    const now = this.#clock.monotonic();
    const { writableLength, socket } = watcher.response;
    const taken = (socket?.bytesWritten ?? 0) - (socket?.writableLength ?? 0);
    if (writableLength === 0 || taken !== watcher.taken) watcher.stalledSince = now;
    watcher.taken = taken;
    return now - watcher.stalledSince >= DEAD_MILLIS;
  }

  snapshot(): Snapshot {
    const collector = this.#collector;
    const functions: FunctionRow[] = [];
    for (const entry of collector.functions.all()) {
      const row = entry.row();
      if (row !== null) functions.push(row);
    }
    return {
      ...this.#facts,
      ...this.#base(),
      functions,
      events: collector.events,
      ...(collector.meanField.latest === null ? {} : { meanField: collector.meanField.latest }),
      waiting: collector.waiting(),
      services: collector.services,
      history: {
        overview: collector.overview.series.columns(),
        field: collector.meanField.series.columns(),
      },
    };
  }

  #base(): Pick<Tick, 'now' | 'pages' | 'nats' | 'totals' | 'hosts'> {
    const now = this.#clock.wall() / 1000;
    return {
      now: now / 1000,
      pages: this.pages,
      nats: this.#collector.nats,
      totals: this.#collector.totals(),
      hosts: this.#collector.hosts.rows(now),
    };
  }

  #changes(): Tick {
    const collector = this.#collector;
    const functions: FunctionRow[] = [];
    for (const entry of collector.functions.all()) {
      const row = entry.row();
      if (row === null) continue;
      const text = JSON.stringify(row);
      if (this.#rows.get(row.name) === text) continue;
      this.#rows.set(row.name, text);
      functions.push(row);
    }
    const removed = collector.functions.removed();
    for (const name of removed) this.#rows.delete(name);
    const events = collector.events.filter(({ id }) => id > this.#eventId);
    this.#eventId = events.at(-1)?.id ?? this.#eventId;
    const overview = collector.overview.series.last();
    const newOverview = overview !== null && overview[0] !== this.#overviewAt;
    this.#overviewAt = overview?.[0] ?? 0;
    const field = collector.meanField.series.last();
    const newField = field !== null && field[0] !== this.#fieldAt;
    this.#fieldAt = field?.[0] ?? 0;
    const services = JSON.stringify(collector.services);
    const newServices = services !== this.#services;
    this.#services = services;
    const contention = collector.waiting();
    const waiting = JSON.stringify(contention);
    const newWaiting = waiting !== this.#waiting;
    this.#waiting = waiting;
    return {
      ...this.#base(),
      ...(functions.length > 0 ? { functions } : {}),
      ...(removed.length > 0 ? { removed } : {}),
      ...(events.length > 0 ? { events } : {}),
      ...(newOverview ? { overview } : {}),
      ...(newField && collector.meanField.latest !== null
        ? { field, meanField: collector.meanField.latest }
        : {}),
      ...(newServices ? { services: collector.services } : {}),
      ...(newWaiting ? { waiting: contention } : {}),
    };
  }
}

const message = (event: string, data: object): string =>
  `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
