import {
  type Columns,
  type ContentionView,
  type EventRow,
  type FunctionRow,
  type HostRow,
  KEPT_EVENTS,
  MEAN_FIELD_COLUMNS,
  type MeanFieldRow,
  type NatsState,
  OVERVIEW_COLUMNS,
  type Pages,
  type ServiceRow,
  type SilentPart,
  type Snapshot,
  type Tick,
  type Totals,
} from '../wire.js';

const OVERVIEW_POINTS = 900;
const FIELD_POINTS = 720;

/** Data of all pages. Every list is bounded. */
export class State {
  version = '';
  writable = false;
  now = 0;
  pages: Pages = { open: 0, missedTicks: 0, dead: 0 };
  nats: NatsState = { connected: false, server: '', since: 0, problem: '' };
  killSwitch = '';
  totals: Totals | null = null;
  hosts: readonly HostRow[] = [];
  readonly functions = new Map<string, FunctionRow>();
  /** Newest first. */
  events: EventRow[] = [];
  meanField: MeanFieldRow | null = null;
  waiting: readonly ContentionView[] = [];
  services: readonly ServiceRow[] = [];
  silentParts: readonly SilentPart[] = [];
  overview = emptyHistory(OVERVIEW_COLUMNS);
  field = emptyHistory(MEAN_FIELD_COLUMNS);

  reset(snapshot: Snapshot): void {
    this.version = snapshot.version;
    this.writable = snapshot.writable;
    this.functions.clear();
    this.events = [];
    this.meanField = null;
    this.overview = snapshot.history.overview;
    this.field = snapshot.history.field;
    this.apply(snapshot);
  }

  apply(tick: Tick): void {
    this.now = tick.now;
    this.pages = tick.pages;
    this.nats = tick.nats;
    this.killSwitch = tick.killSwitch;
    this.totals = tick.totals;
    this.hosts = tick.hosts;
    this.silentParts = tick.silentParts;
    for (const row of tick.functions ?? []) this.functions.set(row.name, row);
    for (const name of tick.removed ?? []) this.functions.delete(name);
    const newest = this.events[0]?.id ?? 0;
    const events = (tick.events ?? []).filter(({ id }) => id > newest).reverse();
    if (events.length > 0) this.events = [...events, ...this.events].slice(0, KEPT_EVENTS);
    if (tick.meanField !== undefined) this.meanField = tick.meanField;
    if (tick.waiting !== undefined) this.waiting = tick.waiting;
    if (tick.services !== undefined) this.services = tick.services;
    if (tick.overview !== undefined)
      append(this.overview, OVERVIEW_COLUMNS, tick.overview, OVERVIEW_POINTS);
    if (tick.field !== undefined) append(this.field, MEAN_FIELD_COLUMNS, tick.field, FIELD_POINTS);
  }
}

function emptyHistory<K extends string>(columns: readonly K[]): Columns<K> {
  return Object.fromEntries(columns.map((name) => [name, []])) as unknown as Columns<K>;
}

function append<K extends string>(
  history: Columns<K>,
  columns: readonly K[],
  row: readonly (number | null)[],
  most: number,
): void {
  const at = history[columns[0]!];
  // The first tick after a snapshot repeats its newest point.
  if (at.length > 0 && (row[0] ?? 0) <= (at.at(-1) ?? 0)) return;
  for (const [i, name] of columns.entries()) {
    history[name].push(row[i] ?? null);
    if (history[name].length > most) history[name].shift();
  }
}

/** One page of the dashboard while it is shown. */
export interface Page {
  readonly title: string;
  readonly element: HTMLElement;
  /** Called when the state has changed, at most once a second. */
  update(state: State): void;
  /** Returns true if the page handles the key. */
  key?(key: string): boolean;
  destroy?(): void;
}
