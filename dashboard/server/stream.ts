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
  /** Text last sent of each part. */
  readonly #sent = new Map<string, string>();
  /** What was last sent of each function. */
  readonly #sentRows = new Map<string, { row: FunctionRow; text: string }>();
  #missedTicks = 0;
  #dead = 0;
  #eventId = 0;

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
    return {
      ...this.#facts,
      ...this.#base(),
      functions: collector.rows(),
      events: collector.events,
      meanField: collector.meanField.latest ?? undefined,
      waiting: collector.waiting(),
      services: collector.services,
      history: {
        overview: collector.overview.series.columns(),
        field: collector.meanField.series.columns(),
      },
    };
  }

  #base(): Pick<
    Tick,
    'now' | 'pages' | 'nats' | 'killSwitch' | 'totals' | 'hosts' | 'silentParts'
  > {
    const now = this.#clock.wall() / 1000;
    return {
      now: now / 1000,
      pages: this.pages,
      nats: this.#collector.nats,
      killSwitch: this.#collector.hosts.killSwitch(),
      totals: this.#collector.totals(),
      hosts: this.#collector.hosts.rows(),
      silentParts: this.#collector.silentParts,
    };
  }

  /** JSON leaves out the unchanged parts, which are undefined. */
  #changes(): Tick {
    const { events, meanField, overview, services } = this.#collector;
    const rows = this.#collector.rows();
    const removed = this.#removed(rows);
    const changed = rows.filter((row) => this.#isChanged(row));
    const news = events.filter(({ id }) => id > this.#eventId);
    this.#eventId = news.at(-1)?.id ?? this.#eventId;
    return {
      ...this.#base(),
      functions: unlessEmpty(changed),
      removed: unlessEmpty(removed),
      events: unlessEmpty(news),
      meanField: this.#changed('meanField', meanField.latest),
      waiting: this.#changed('waiting', this.#collector.waiting()),
      services: this.#changed('services', services),
      overview: this.#changed('overview', overview.series.last()),
      field: this.#changed('field', meanField.series.last()),
    };
  }

  /** Functions that were sent and have no row any more. */
  #removed(rows: readonly FunctionRow[]): string[] {
    const present = new Set(rows.map(({ name }) => name));
    const removed = [...this.#sentRows.keys()].filter((name) => !present.has(name));
    for (const name of removed) this.#sentRows.delete(name);
    return removed;
  }

  /** An unchanged function has the same row object; comparing the texts of all takes long. */
  #isChanged(row: FunctionRow): boolean {
    const sent = this.#sentRows.get(row.name);
    if (sent?.row === row) return false;
    const text = JSON.stringify(row);
    this.#sentRows.set(row.name, { row, text });
    return sent?.text !== text;
  }

  /** The part, unless it was sent already. */
  #changed<T>(name: string, part: T | null): T | undefined {
    const text = JSON.stringify(part);
    if (part === null || this.#sent.get(name) === text) return undefined;
    this.#sent.set(name, text);
    return part;
  }
}

const unlessEmpty = <T>(list: readonly T[]): readonly T[] | undefined =>
  list.length > 0 ? list : undefined;

const message = (event: string, data: object): string =>
  `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
