import type { ServerResponse } from 'node:http';
import type { Clock } from '../../config/index.js';
import type { FunctionRow, Pages, Snapshot, Tick } from '../wire.js';
import type { Collector } from './collector.js';

/**
 * What a page that reads slowly may be behind, bytes; it misses ticks beyond, and gets everything
 * anew then.
 */
const BACKLOG_MAX = 4 * 1024 * 1024;
export const WATCHERS_MAX = 32;
/**
 * One that has taken nothing of what waits for it for so long is dead, and not slow: its browser is
 * gone, or asleep, and asks anew when it is back.
 */
const DEAD_MILLIS = 120_000;

interface Watcher {
  readonly response: ServerResponse;
  behind: boolean;
  /**
   * What its connection had taken at the last tick, bytes, and since when it has taken nothing of
   * what waits.
   */
  taken: number;
  stalledSince: number;
}

/**
 * Server-sent events: a snapshot to each page that connects, then what has changed, once a second.
 */
export class Stream {
  readonly #collector: Collector;
  readonly #clock: Clock;
  readonly #facts: { readonly version: string; readonly writable: boolean };
  readonly #watchers = new Set<Watcher>();
  /** Newest row of each function as text: what is the same is not sent again. */
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

  /**
   * Something waits for it, and no piece of that (4 MiB or a tick at most) was taken for two
   * minutes; a slow one takes some.
   */
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
