import type { Micros } from '../../../config/index.js';
import type { Identity, TapAnomaly, TapListener } from '../ports/index.js';
import {
  ConnectionTable,
  HALF,
  IDLE,
  OPEN,
  TRUSTED,
  UNREADABLE_STREAM,
  UNTRUSTED,
} from './connection-table.js';
import { Deliveries } from './deliveries.js';
import { headLength, RequestHead, readRequestHead, readStatus } from './http-head.js';
import { type InitBody, readIdentity, readInit } from './identity.js';
import { ACK, FIN, RST, SYN, type TcpPacket } from './packet.js';
import { Sources } from './sources.js';

export interface ConnectionOptions {
  /** Port on which the containers serve. */
  readonly port: number;
  /** Connections remembered at once. */
  readonly capacity: number;
  /** Addresses of invokers; empty: learned. */
  readonly invokers: readonly number[];
  /** No request lasts longer than this: OpenWhisk hangs up before. */
  readonly longestRequest: Micros;
}

/** A sequence number that is this far ahead may as well be behind. */
const FARTHEST = 2 ** 31;

/**
 * Decides for each packet whether it can be a head, and of which connection.
 *
 * A connection is trusted from the container's SYN-ACK on, which shows where the first head and the
 * first answer begin; each head then shows where the next one begins, and its acknowledgement
 * number where its answer does. A connection whose start was missed is trusted after
 * `longestRequest` in which every head followed from the one before: by then the request that may
 * have been under way has ended, and a real head is part of the chain.
 */
export class Connections {
  readonly #listener: TapListener;
  readonly #options: ConnectionOptions;
  readonly #table: ConnectionTable;
  /** Containers by address: when they started, us. */
  readonly #bound: Map<number, number>;
  readonly #deliveries: Deliveries;
  readonly sources: Sources;
  /**
   * How far the wall clock was set since the start, us: deadlines are moved by it, as packets'
   * stamps are.
   */
  stepped = 0;
  readonly #head = new RequestHead();
  readonly #init: InitBody = { name: null, identity: null };

  constructor(listener: TapListener, options: ConnectionOptions) {
    this.#listener = listener;
    this.#options = options;
    this.#table = new ConnectionTable(options.capacity);
    const bound = new Map<number, number>();
    this.#bound = bound;
    this.sources = new Sources(options.invokers, (address) => bound.has(address));
    this.#deliveries = new Deliveries(listener, this.#table, this.sources, bound);
  }

  get remembered(): number {
    return this.#table.used;
  }

  bind(address: number, startedAt: number): void {
    this.#bound.set(address, startedAt);
    this.sources.forget(address);
    // A fast container gets a request before its start is announced, perhaps while its address
    // still belongs to an earlier container, so the request is delivered again.
    const table = this.#table;
    for (let slot = 0; slot < table.capacity; slot++) {
      if (!table.isTaken(slot) || table.server[slot] !== address || table.open[slot] !== OPEN)
        continue;
      if (this.#deliveries.reach(slot)) table.notified[slot] = 0;
      this.#deliveries.tell(slot);
    }
  }

  unbind(address: number): void {
    this.#bound.delete(address);
  }

  /** Packets of this bridge may have been missed: none of its connections is what it seemed. */
  distrust(bridge: number): void {
    const table = this.#table;
    for (let slot = 0; slot < table.capacity; slot++) {
      if (table.isTaken(slot) && table.bridge[slot] === bridge) table.remove(slot);
    }
  }

  packet(bytes: Uint8Array, packet: TcpPacket, bridge: number): void {
    if (packet.sourcePort === this.#options.port) this.#fromContainer(bytes, packet, bridge);
    else if (packet.destinationPort === this.#options.port)
      this.#toContainer(bytes, packet, bridge);
  }

  #fromContainer(bytes: Uint8Array, packet: TcpPacket, bridge: number): void {
    const flags = packet.flags;
    const slot = this.#table.find(packet.source, packet.destination, packet.destinationPort);
    if ((flags & SYN) !== 0) {
      if ((flags & (ACK | RST | FIN)) === ACK) this.#start(slot, packet, bridge);
      return;
    }
    if (slot < 0) return;
    if (packet.payloadLength > 0 && bytes[packet.payload] === 72) this.#answer(slot, bytes, packet);
    if ((flags & (FIN | RST)) === 0) return;
    // A FIN from before the connection's time is a copy of its predecessor's.
    if ((flags & RST) === 0 && this.#table.trust[slot] !== UNTRUSTED) {
      if (ahead(packet.sequence, this.#table.answer[slot]!) < 0) return;
    }
    this.#close(slot, (flags & RST) !== 0, packet.at);
  }

  #start(known: number, packet: TcpPacket, bridge: number): void {
    const table = this.#table;
    const answer = (packet.sequence + 1) >>> 0;
    if (known >= 0) {
      const again = table.headSeen[known] === 0 && table.trust[known] === TRUSTED;
      if (again && table.next[known] === packet.acknowledged && table.answer[known] === answer)
        return;
      // The port is reused: requests on the old connection have lost their client.
      this.#close(known, true, packet.at);
    }
    if (!this.#mayCall(packet.destination)) {
      this.#anomaly('unknown_source', packet.source);
      return;
    }
    const slot = this.#add(
      packet.source,
      packet.destination,
      packet.destinationPort,
      bridge,
      packet.at,
    );
    table.trust[slot] = TRUSTED;
    table.next[slot] = packet.acknowledged;
    table.answer[slot] = answer;
  }

  #toContainer(bytes: Uint8Array, packet: TcpPacket, bridge: number): void {
    if (packet.payloadLength === 0 || (packet.flags & (SYN | RST)) !== 0) return;
    const first = bytes[packet.payload];
    let slot = this.#table.find(packet.destination, packet.source, packet.sourcePort);
    if (slot < 0) {
      if (!this.#mayCall(packet.source)) {
        this.#anomaly('unknown_source', packet.destination);
        return;
      }
      slot = this.#add(packet.destination, packet.source, packet.sourcePort, bridge, packet.at);
      this.#chain(slot, bytes, packet, false);
      return;
    }
    if (first === 123) this.#bodyStart(slot, bytes, packet);
    else this.#requestHead(slot, bytes, packet);
  }

  #requestHead(slot: number, bytes: Uint8Array, packet: TcpPacket): void {
    const table = this.#table;
    const server = packet.destination;
    if (table.trust[slot] === UNREADABLE_STREAM) return;
    if (table.headSeen[slot] === 1 && table.head[slot] === packet.sequence) {
      this.#anomaly('retransmission', server);
      return;
    }
    const distance = ahead(packet.sequence, table.next[slot]!);
    if (table.trust[slot] === UNTRUSTED) {
      if (!this.#chain(slot, bytes, packet, distance === 0)) return;
    } else if (distance !== 0) {
      // Behind: a piece of a body. Beyond: the head that must have come before was not seen.
      if (distance < 0) this.#anomaly('unexpected_sequence', server);
      else {
        table.trust[slot] = UNTRUSTED;
        this.#chain(slot, bytes, packet, false);
      }
      return;
    } else if (table.open[slot] !== IDLE && table.answer[slot] === packet.acknowledged) {
      this.#anomaly('pipelined', server);
      table.trust[slot] = UNREADABLE_STREAM;
      return;
    }
    this.#takeHead(slot, bytes, packet);
  }

  /**
   * Watches the heads of a connection whose start was missed; true once they have proved
   * themselves.
   */
  #chain(slot: number, bytes: Uint8Array, packet: TcpPacket, follows: boolean): boolean {
    const table = this.#table;
    if (!follows) table.chainedSince[slot] = packet.at;
    else if (packet.at - table.chainedSince[slot]! > this.#options.longestRequest) {
      table.trust[slot] = TRUSTED;
      return true;
    }
    this.#anomaly('unexpected_sequence', packet.destination);
    const head = this.#head;
    table.head[slot] = packet.sequence;
    table.headSeen[slot] = 1;
    const whole =
      readRequestHead(bytes, packet.payload, packet.payload + packet.captured, head) &&
      head.measurable;
    const span = whole ? head.length + Math.max(0, head.contentLength) : FARTHEST;
    if (span < FARTHEST && packet.payloadLength <= span) table.next[slot] = packet.sequence + span;
    else {
      // No place follows from this head; the next one starts a new chain.
      table.next[slot] = packet.sequence - 1;
    }
    return false;
  }

  #takeHead(slot: number, bytes: Uint8Array, packet: TcpPacket): void {
    const table = this.#table;
    const head = this.#head;
    const end = packet.payload + packet.captured;
    const whole = readRequestHead(bytes, packet.payload, end, head);
    const length = Math.max(0, head.contentLength);
    if (whole && head.measurable && packet.payloadLength > head.length + length) {
      this.#anomaly('pipelined', packet.destination);
      table.trust[slot] = UNREADABLE_STREAM;
      return;
    }
    // The last request's answer or body was missed: its start is delivered before this one ends it.
    if (table.open[slot] === HALF) this.#deliveries.tell(slot);
    table.head[slot] = packet.sequence;
    table.headSeen[slot] = 1;
    table.headAt[slot] = packet.at;
    table.kind[slot] = head.kind;
    table.contentLength[slot] = head.contentLength;
    table.answer[slot] = packet.acknowledged;
    table.open[slot] = OPEN;
    table.notified[slot] = 0;
    table.identity[slot] = null;
    table.initName[slot] = null;
    if (!whole) this.#anomaly('unreadable_head', packet.destination);
    if (!whole || !head.measurable || head.length + length >= FARTHEST) {
      table.trust[slot] = UNREADABLE_STREAM;
      this.#deliveries.tell(slot);
      return;
    }
    const body = packet.payload + head.length;
    table.body[slot] = packet.sequence + head.length;
    table.next[slot] = table.body[slot]! + length;
    if (head.kind !== 'other' && length > 0) {
      if (packet.payloadLength === head.length) {
        table.open[slot] = HALF;
        return;
      }
      this.#identify(slot, bytes, body, end, packet.destination);
    }
    this.#deliveries.tell(slot);
  }

  #bodyStart(slot: number, bytes: Uint8Array, packet: TcpPacket): void {
    const table = this.#table;
    if (table.open[slot] !== HALF) {
      const copy = table.headSeen[slot] === 1 && table.body[slot] === packet.sequence;
      if (table.trust[slot] === TRUSTED)
        this.#anomaly(copy ? 'retransmission' : 'unexpected_sequence', packet.destination);
      return;
    }
    if (packet.sequence !== table.body[slot] || packet.payloadLength > table.contentLength[slot]!) {
      this.#anomaly('unexpected_sequence', packet.destination);
      return;
    }
    table.open[slot] = OPEN;
    this.#identify(
      slot,
      bytes,
      packet.payload,
      packet.payload + packet.captured,
      packet.destination,
    );
    this.#deliveries.tell(slot);
  }

  #identify(slot: number, bytes: Uint8Array, start: number, end: number, address: number): void {
    const table = this.#table;
    let identity: Identity | null;
    if (table.kind[slot] === 'init') {
      const body = this.#init;
      readInit(bytes, start, end, end - start === table.contentLength[slot], body);
      table.initName[slot] = body.name;
      identity = body.identity;
    } else identity = readIdentity(bytes, start, end);
    if (identity !== null && this.stepped !== 0 && identity.deadline > 0) {
      identity = { ...identity, deadline: (identity.deadline - this.stepped) as Micros };
    }
    table.identity[slot] = identity;
    if (identity === null && table.initName[slot] === null)
      this.#anomaly('unreadable_head', address);
  }

  #answer(slot: number, bytes: Uint8Array, packet: TcpPacket): void {
    const table = this.#table;
    if (table.open[slot] === IDLE) {
      if (table.trust[slot] === TRUSTED) this.#anomaly('unexpected_sequence', packet.source);
      return;
    }
    const distance = ahead(packet.sequence, table.answer[slot]!);
    if (distance !== 0) {
      this.#anomaly(distance < 0 ? 'retransmission' : 'unexpected_sequence', packet.source);
      return;
    }
    const end = packet.payload + packet.captured;
    let start = packet.payload;
    for (;;) {
      const status = readStatus(bytes, start, end);
      if (status < 0) {
        this.#anomaly('unreadable_head', packet.source);
        return;
      }
      if (status >= 200) {
        this.#deliveries.tell(slot);
        table.open[slot] = IDLE;
        table.identity[slot] = null;
        table.initName[slot] = null;
        if (table.notified[slot] === 1 && this.#deliveries.reach(slot)) {
          this.#listener.answer(table.id[slot]!, packet.source, status, packet.at as Micros);
        }
        return;
      }
      // "100 Continue" and its like: the final answer follows it.
      const length = headLength(bytes, start, end);
      if (length < 0) return;
      start += length;
      table.answer[slot] = table.answer[slot]! + length;
      if (start - packet.payload >= packet.payloadLength) return;
    }
  }

  #mayCall(client: number): boolean {
    return this.sources.allows(client) || this.sources.mayLearn(client);
  }

  #close(slot: number, reset: boolean, at: number): void {
    const table = this.#table;
    if (table.open[slot] !== IDLE) this.#deliveries.tell(slot);
    const delivered = this.#deliveries.reach(slot) && this.sources.allows(table.client[slot]!);
    const id = table.id[slot]!;
    const server = table.server[slot]!;
    table.remove(slot);
    if (delivered) this.#listener.closed(id, server, reset, at as Micros);
  }

  #add(server: number, client: number, port: number, bridge: number, at: number): number {
    const victim = this.#table.victim;
    if (victim >= 0) {
      if (this.#deliveries.reach(victim)) {
        this.#anomaly('connection_evicted', this.#table.server[victim]!);
        this.#close(victim, true, at);
      } else this.#table.remove(victim);
    }
    return this.#table.add(server, client, port, bridge, at);
  }

  #anomaly(kind: TapAnomaly, address: number): void {
    this.#listener.anomaly(kind, address);
  }
}

/** Distance of two sequence numbers, -2^31..2^31-1 (RFC 9293 §3.4). */
function ahead(sequence: number, than: number): number {
  return (sequence - than) | 0;
}
