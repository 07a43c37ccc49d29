import type { Micros } from '../../../config/index.js';
import type { TapAnomaly, TapListener } from '../ports/index.js';
import { type Connection, ConnectionTable } from './connection-table.js';
import { headLength, readRequestHead, readStatus } from './http-head.js';
import { readIdentity, readInit } from './identity.js';
import { ACK, FIN, RST, SYN, type TcpPacket } from './packet.js';
import { type AddressRange, Sources } from './sources.js';

export interface ConnectionOptions {
  /** Port on which the containers serve. */
  readonly port: number;
  /** Connections remembered at once. */
  readonly capacity: number;
  /** Addresses of invokers; empty: learned. */
  readonly invokers: readonly AddressRange[];
  /** No request lasts longer than this: OpenWhisk closes the connection before. */
  readonly longestRequest: Micros;
}

/** A sequence number that is this far ahead may as well be behind. */
const FARTHEST = 2 ** 31;
/** Stamps of one capture are in order but for what several cores do at the same time; us. */
const REORDERED = 1000;
/** A close counts after this long although no later packet has come; us. */
const LONGEST_WAIT = 1_000_000;
/** First letters of `HTTP` and of a JSON object. */
const LETTER_H = 72;
const BRACE = 123;

/** A FIN from a container, until every packet from before it has been read. */
interface Close {
  readonly server: number;
  readonly client: number;
  readonly port: number;
  readonly sequence: number;
  readonly interfaceIndex: number;
  readonly bridge: number;
  readonly at: number;
}

/**
 * Decides for each packet whether it can be a head, and reports requests to containers that have
 * started, from accepted sources, each once.
 *
 * A connection is trusted from the container's SYN-ACK on, which shows where the first head and the
 * first answer begin; each head then shows where the next one begins, and its acknowledgement
 * number where its answer does. A connection whose start was missed is trusted after
 * `longestRequest` in which every head followed from the one before: by then the request that may
 * have been under way has ended, and a real head is part of the chain.
 *
 * A capture of all interfaces shows a packet on each that it passes. Only those of the interface
 * that showed a connection first count.
 */
export class Connections {
  readonly #listener: TapListener;
  readonly #options: ConnectionOptions;
  readonly #table: ConnectionTable;
  /** Containers by address: when they started, us. */
  readonly #bound = new Map<number, number>();
  readonly #closes: Close[] = [];
  /** Newest stamp of the bridge's heads, us: what came before it has been read. */
  readonly #readUpTo = new Map<number, number>();
  readonly sources: Sources;
  /** How far the wall clock was set since the start, us: deadlines are moved by it like stamps. */
  stepped = 0;

  constructor(listener: TapListener, options: ConnectionOptions) {
    this.#listener = listener;
    this.#options = options;
    this.#table = new ConnectionTable(options.capacity);
    this.sources = new Sources(
      options.invokers,
      (address) => this.#bound.has(address),
      options.longestRequest,
    );
  }

  get remembered(): number {
    return this.#table.size;
  }

  /** Captures whose heads have been read. */
  get captures(): number {
    return this.#readUpTo.size;
  }

  bind(address: number, startedAt: number): void {
    this.#bound.set(address, startedAt);
    this.sources.forget(address);
    // A fast container gets a request before its start is announced, perhaps while its address
    // still belongs to an earlier container, so the request is reported again.
    for (const connection of this.#table.values()) {
      if (connection.server !== address || connection.request !== 'open') continue;
      if (this.#isOfContainer(connection)) connection.isReported = false;
      this.#report(connection);
    }
  }

  unbind(address: number): void {
    this.#bound.delete(address);
  }

  /** Packets of this bridge may have been missed: the state of its connections is unknown. */
  distrust(bridge: number): void {
    for (const connection of this.#table.values())
      if (connection.bridge === bridge) this.#table.remove(connection);
  }

  /** The bridge is captured no more. */
  forget(bridge: number): void {
    this.#readUpTo.delete(bridge);
    this.distrust(bridge);
  }

  /** A packet of the bridge's capture of heads. */
  packet(bytes: Buffer, packet: TcpPacket, bridge: number): void {
    this.#readUpTo.set(bridge, packet.at);
    if (packet.sourcePort === this.#options.port) this.#fromContainer(bytes, packet, bridge);
    else if (packet.destinationPort === this.#options.port)
      this.#toContainer(bytes, packet, bridge);
  }

  /** A packet of the bridge's capture of closes. They come late, yet the answer may be unread. */
  close(packet: TcpPacket, bridge: number): void {
    const { flags, source, destination, destinationPort, sequence, interfaceIndex, at } = packet;
    if ((flags & FIN) === 0 || packet.sourcePort !== this.#options.port) return;
    const close: Close = {
      server: source,
      client: destination,
      port: destinationPort,
      sequence,
      interfaceIndex,
      bridge,
      at,
    };
    if (this.#isRead(close)) this.#finish(close);
    else this.#closes.push(close);
  }

  /** Handles the closes that waited; call it regularly. `now`: as the stamps, us. */
  settle(now: number): void {
    let kept = 0;
    for (const close of this.#closes) {
      if (this.#isRead(close) || now - close.at > LONGEST_WAIT) this.#finish(close);
      else this.#closes[kept++] = close;
    }
    this.#closes.length = kept;
  }

  #isRead({ bridge, at }: Close): boolean {
    return at + REORDERED < (this.#readUpTo.get(bridge) ?? 0);
  }

  #finish({ server, client, port, sequence, interfaceIndex, at }: Close): void {
    const connection = this.#table.find(server, client, port);
    if (connection === undefined || connection.interfaceIndex !== interfaceIndex) return;
    // A FIN from before the connection's time is its predecessor's, or a copy of it.
    if (at < connection.openedAt || isBefore(connection, sequence)) return;
    this.#close(connection, false, at);
  }

  #fromContainer(bytes: Buffer, packet: TcpPacket, bridge: number): void {
    const { flags, source, destination, destinationPort } = packet;
    const connection = this.#table.find(source, destination, destinationPort);
    if ((flags & SYN) !== 0) {
      if ((flags & (ACK | RST | FIN)) === ACK) this.#start(connection, packet, bridge);
      return;
    }
    if (connection === undefined || isCopy(connection, packet)) return;
    if (packet.payloadLength > 0 && bytes[packet.payload] === LETTER_H)
      this.#answer(connection, bytes, packet);
    if ((flags & (FIN | RST)) === 0) return;
    const isReset = (flags & RST) !== 0;
    if (isReset || !isBefore(connection, packet.sequence))
      this.#close(connection, isReset, packet.at);
  }

  #start(known: Connection | undefined, packet: TcpPacket, bridge: number): void {
    const { source, destination, destinationPort, acknowledged, at } = packet;
    const answer = (packet.sequence + 1) >>> 0;
    if (known !== undefined) {
      const isRepeated = known.head < 0 && known.trust === 'trusted';
      if (isRepeated && known.next === acknowledged && known.answer === answer) return;
      // The port is reused: requests on the old connection have lost their client.
      this.#close(known, true, at);
    }
    if (!this.#mayCall(destination, at)) {
      this.#anomaly('unknown_source', source);
      return;
    }
    const connection = this.#add(packet, source, destination, destinationPort, bridge);
    connection.trust = 'trusted';
    connection.next = acknowledged;
    connection.answer = answer;
  }

  #toContainer(bytes: Buffer, packet: TcpPacket, bridge: number): void {
    const { source, destination, sourcePort } = packet;
    if (packet.payloadLength === 0 || (packet.flags & (SYN | RST)) !== 0) return;
    const connection = this.#table.find(destination, source, sourcePort);
    if (connection === undefined) {
      if (this.#mayCall(source, packet.at)) {
        const added = this.#add(packet, destination, source, sourcePort, bridge);
        this.#chain(added, bytes, packet, false);
      } else this.#anomaly('unknown_source', destination);
      return;
    }
    this.#table.use(connection);
    if (isCopy(connection, packet)) return;
    if (bytes[packet.payload] === BRACE) this.#bodyStart(connection, bytes, packet);
    else this.#requestHead(connection, bytes, packet);
  }

  #requestHead(connection: Connection, bytes: Buffer, packet: TcpPacket): void {
    const server = packet.destination;
    if (connection.trust === 'unreadable') return;
    if (connection.head === packet.sequence) {
      this.#anomaly('retransmission', server);
      return;
    }
    const distance = ahead(packet.sequence, connection.next);
    if (connection.trust === 'untrusted') {
      if (!this.#chain(connection, bytes, packet, distance === 0)) return;
    } else if (distance !== 0) {
      // Behind: a piece of a body. Beyond: the head that must have come before was not seen.
      if (distance < 0) this.#anomaly('unexpected_sequence', server);
      else {
        connection.trust = 'untrusted';
        this.#chain(connection, bytes, packet, false);
      }
      return;
    } else if (connection.request !== 'none' && connection.answer === packet.acknowledged) {
      this.#anomaly('pipelined', server);
      connection.trust = 'unreadable';
      return;
    }
    this.#takeHead(connection, bytes, packet);
  }

  /** Watches the heads of a connection whose start was missed; true once they are proved. */
  #chain(connection: Connection, bytes: Buffer, packet: TcpPacket, follows: boolean): boolean {
    if (!follows) connection.chainedSince = packet.at;
    else if (packet.at - connection.chainedSince > this.#options.longestRequest) {
      connection.trust = 'trusted';
      return true;
    }
    this.#anomaly('unexpected_sequence', packet.destination);
    connection.head = packet.sequence;
    const head = readRequestHead(bytes, packet.payload, packet.payload + packet.captured);
    const span = head.measurable ? head.length + Math.max(0, head.contentLength) : FARTHEST;
    // If no place follows from this head, the next one starts a new chain.
    const isMeasured = span < FARTHEST && packet.payloadLength <= span;
    connection.next = (packet.sequence + (isMeasured ? span : -1)) >>> 0;
    return false;
  }

  #takeHead(connection: Connection, bytes: Buffer, packet: TcpPacket): void {
    const { payload, payloadLength, sequence, destination } = packet;
    const end = payload + packet.captured;
    const head = readRequestHead(bytes, payload, end);
    const length = Math.max(0, head.contentLength);
    if (head.measurable && payloadLength > head.length + length) {
      this.#anomaly('pipelined', destination);
      connection.trust = 'unreadable';
      return;
    }
    // The last request's answer or body was missed: its start is reported before this one ends it.
    if (connection.request === 'head') this.#report(connection);
    connection.head = sequence;
    connection.headAt = packet.at;
    connection.kind = head.kind;
    connection.contentLength = head.contentLength;
    connection.answer = packet.acknowledged;
    connection.request = 'open';
    connection.isReported = false;
    connection.identity = null;
    connection.initName = null;
    if (head.length === 0) this.#anomaly('unreadable_head', destination);
    if (!head.measurable || head.length + length >= FARTHEST) {
      connection.trust = 'unreadable';
      this.#report(connection);
      return;
    }
    connection.body = (sequence + head.length) >>> 0;
    connection.next = (connection.body + length) >>> 0;
    if (head.kind !== 'other' && length > 0) {
      if (payloadLength === head.length) {
        connection.request = 'head';
        return;
      }
      this.#identify(connection, bytes, payload + head.length, end);
    }
    this.#report(connection);
  }

  #bodyStart(connection: Connection, bytes: Buffer, packet: TcpPacket): void {
    const { payload, sequence, destination } = packet;
    if (connection.request !== 'head') {
      const isCopy = connection.head >= 0 && connection.body === sequence;
      if (connection.trust === 'trusted')
        this.#anomaly(isCopy ? 'retransmission' : 'unexpected_sequence', destination);
      return;
    }
    if (sequence !== connection.body || packet.payloadLength > connection.contentLength) {
      this.#anomaly('unexpected_sequence', destination);
      return;
    }
    connection.request = 'open';
    this.#identify(connection, bytes, payload, payload + packet.captured);
    this.#report(connection);
  }

  #identify(connection: Connection, bytes: Buffer, start: number, end: number): void {
    if (connection.kind === 'init') {
      const isWhole = end - start === connection.contentLength;
      const { name, identity } = readInit(bytes, start, end, isWhole);
      connection.initName = name;
      connection.identity = identity;
    } else connection.identity = readIdentity(bytes, start, end);
    const { identity } = connection;
    if (identity === null && connection.initName === null)
      this.#anomaly('unreadable_head', connection.server);
    if (identity !== null && identity.deadline > 0 && this.stepped !== 0)
      connection.identity = {
        ...identity,
        deadline: (identity.deadline - this.stepped) as Micros,
      };
  }

  #answer(connection: Connection, bytes: Buffer, packet: TcpPacket): void {
    const { source, payload } = packet;
    if (connection.request === 'none') {
      if (connection.trust === 'trusted') this.#anomaly('unexpected_sequence', source);
      return;
    }
    const distance = ahead(packet.sequence, connection.answer);
    if (distance !== 0) {
      this.#anomaly(distance < 0 ? 'retransmission' : 'unexpected_sequence', source);
      return;
    }
    const end = payload + packet.captured;
    for (let start = payload; start - payload < packet.payloadLength; ) {
      const status = readStatus(bytes, start, end);
      if (status < 0) {
        this.#anomaly('unreadable_head', source);
        return;
      }
      if (status >= 200) {
        this.#report(connection);
        connection.request = 'none';
        connection.identity = null;
        connection.initName = null;
        if (connection.isReported && this.#isOfContainer(connection))
          this.#listener.answer(connection.id, source, status, packet.at as Micros);
        return;
      }
      // The final answer follows an interim one, such as "100 Continue".
      const length = headLength(bytes, start, end);
      if (length < 0) return;
      start += length;
      connection.answer = (connection.answer + length) >>> 0;
    }
  }

  /** Reports the open request, once, if it is a container's whose time has begun. */
  #report(connection: Connection): void {
    const { id, server, client, kind, identity, initName, headAt, contentLength } = connection;
    if (connection.isReported || !this.#isOfContainer(connection)) return;
    const isCredible = kind === 'init' || identity !== null;
    if (!this.sources.uses(client, headAt) && !(isCredible && this.sources.learn(client, headAt))) {
      this.#anomaly('unknown_source', server);
      return;
    }
    connection.isReported = true;
    connection.request = 'open';
    const at = headAt as Micros;
    this.#listener.request({
      connection: id,
      address: server,
      kind,
      identity,
      initName,
      at,
      contentLength,
    });
  }

  /** Whether the address was the container's already when the connection was opened. */
  #isOfContainer({ server, openedAt }: Connection): boolean {
    const startedAt = this.#bound.get(server);
    return startedAt !== undefined && openedAt >= startedAt;
  }

  #mayCall(client: number, at: number): boolean {
    return this.sources.allows(client) || this.sources.mayLearn(client, at);
  }

  #close(connection: Connection, isReset: boolean, at: number): void {
    const { id, server, client } = connection;
    if (connection.request !== 'none') this.#report(connection);
    this.#table.remove(connection);
    if (this.#isOfContainer(connection) && this.sources.allows(client))
      this.#listener.closed(id, server, isReset, at as Micros);
  }

  #add(
    { at, interfaceIndex }: TcpPacket,
    server: number,
    client: number,
    port: number,
    bridge: number,
  ): Connection {
    const { victim } = this.#table;
    if (victim !== undefined && this.#isOfContainer(victim)) {
      this.#anomaly('connection_evicted', victim.server);
      this.#close(victim, true, at);
    } else if (victim !== undefined) this.#table.remove(victim);
    return this.#table.add(server, client, port, bridge, interfaceIndex, at);
  }

  #anomaly(kind: TapAnomaly, address: number): void {
    this.#listener.anomaly(kind, address);
  }
}

const isCopy = (connection: Connection, packet: TcpPacket): boolean =>
  connection.interfaceIndex !== packet.interfaceIndex;

/** Whether a container's byte lies before what is known to be read: not of this connection. */
const isBefore = (connection: Connection, sequence: number): boolean =>
  connection.trust !== 'untrusted' && ahead(sequence, connection.answer) < 0;

/** Distance of two sequence numbers, -2^31..2^31-1 (RFC 9293 §3.4). */
function ahead(sequence: number, than: number): number {
  return (sequence - than) | 0;
}
