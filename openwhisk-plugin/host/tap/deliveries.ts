import type { Micros } from '../../../config/index.js';
import type { Identity, RequestKind, TapListener, TapRequest } from '../ports/index.js';
import { type ConnectionTable, OPEN } from './connection-table.js';
import type { Sources } from './sources.js';

interface Mutable extends TapRequest {
  connection: number;
  address: number;
  kind: RequestKind;
  identity: Identity | null;
  at: Micros;
  contentLength: number;
  initName: string | null;
}

/**
 * Decides what the listener gets: requests to containers that have started, from accepted sources,
 * each once.
 */
export class Deliveries {
  readonly #listener: TapListener;
  readonly #table: ConnectionTable;
  readonly #sources: Sources;
  readonly #bound: ReadonlyMap<number, number>;
  readonly #request: Mutable = {
    connection: 0,
    address: 0,
    kind: 'other',
    identity: null,
    at: 0 as Micros,
    contentLength: -1,
    initName: null,
  };

  constructor(
    listener: TapListener,
    table: ConnectionTable,
    sources: Sources,
    bound: ReadonlyMap<number, number>,
  ) {
    this.#listener = listener;
    this.#table = table;
    this.#sources = sources;
    this.#bound = bound;
  }

  /** Reports the open request, once, if it is a container's whose time has begun. */
  tell(slot: number): void {
    const table = this.#table;
    if (table.notified[slot] === 1 || !this.reach(slot)) return;
    const client = table.client[slot]!;
    const identity = table.identity[slot] ?? null;
    const kind = table.kind[slot]!;
    if (!this.#sources.allows(client)) {
      if ((kind !== 'init' && identity === null) || !this.#sources.learn(client)) {
        this.#listener.anomaly('unknown_source', table.server[slot]!);
        return;
      }
    }
    table.notified[slot] = 1;
    table.open[slot] = OPEN;
    const initName = table.initName[slot] ?? null;
    const request = this.#request;
    request.connection = table.id[slot]!;
    request.address = table.server[slot]!;
    request.kind = kind;
    request.identity = identity;
    request.at = table.headAt[slot] as Micros;
    request.contentLength = table.contentLength[slot]!;
    request.initName = initName;
    this.#listener.request(request);
  }

  /**
   * Whether what happens on a connection is a container's whose time had begun when the connection
   * did.
   */
  reach(slot: number): boolean {
    const startedAt = this.#bound.get(this.#table.server[slot]!);
    return startedAt !== undefined && this.#table.openedAt[slot]! >= startedAt;
  }
}
