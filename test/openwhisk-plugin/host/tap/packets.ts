import type { Micros } from '../../../../config/index.js';
import {
  addressOf,
  type Identity,
  type TapAnomaly,
  type TapListener,
} from '../../../../openwhisk-plugin/host/ports/index.js';
import {
  type ConnectionOptions,
  Connections,
} from '../../../../openwhisk-plugin/host/tap/connections.js';
import {
  ACK,
  FIN,
  RST,
  readTcp,
  SYN,
  TcpPacket,
} from '../../../../openwhisk-plugin/host/tap/packet.js';

export const INVOKER = addressOf('172.17.0.1');
export const CONTAINER = addressOf('172.17.0.2');
export const BEGIN = 1_700_000_000_000_000;
const SNAPSHOT = 2048;

export interface Segment {
  source: number;
  destination: number;
  sourcePort: number;
  destinationPort: number;
  sequence: number;
  acknowledged: number;
  flags: number;
  payload: Uint8Array;
}

/** An Ethernet frame as on the wire; checksums are not read by anybody here. */
export function frame(segment: Segment, options = 12): Buffer {
  const header = 14 + 20 + 20 + options;
  const bytes = Buffer.alloc(header + segment.payload.length);
  bytes.writeUInt16BE(0x0800, 12);
  bytes[14] = 0x45;
  bytes.writeUInt16BE((header - 14 + segment.payload.length) & 0xffff, 16);
  bytes[23] = 6;
  bytes.writeUInt32BE(segment.source, 26);
  bytes.writeUInt32BE(segment.destination, 30);
  bytes.writeUInt16BE(segment.sourcePort, 34);
  bytes.writeUInt16BE(segment.destinationPort, 36);
  bytes.writeUInt32BE(segment.sequence >>> 0, 38);
  bytes.writeUInt32BE(segment.acknowledged >>> 0, 42);
  bytes[46] = ((20 + options) / 4) << 4;
  bytes[47] = segment.flags;
  bytes.set(segment.payload, header);
  return bytes;
}

/** A nanosecond pcap stream of frames, as tcpdump writes it. */
export function pcapOf(
  frames: readonly Buffer[],
  options: { little?: boolean; snapshot?: number; at?: number } = {},
): Buffer {
  const { little = true, snapshot = SNAPSHOT, at = BEGIN } = options;
  const words = (...values: number[]): Buffer => {
    const out = Buffer.alloc(values.length * 4);
    values.forEach((value, i) => {
      if (little) out.writeUInt32LE(value, i * 4);
      else out.writeUInt32BE(value, i * 4);
    });
    return out;
  };
  const version = little ? 0x00040002 : 0x00020004;
  const parts = [words(0xa1b23c4d, version, 0, 0, snapshot, 1)];
  frames.forEach((bytes, i) => {
    const stamp = at + i;
    const captured = Math.min(bytes.length, snapshot);
    parts.push(
      words(Math.floor(stamp / 1e6), (stamp % 1e6) * 1000, captured, bytes.length),
      bytes.subarray(0, captured),
    );
  });
  return Buffer.concat(parts);
}

/** Everything a listener was told, in the order it was told. */
export class Recorder implements TapListener {
  readonly told: string[] = [];
  readonly identities: (Identity | null)[] = [];
  readonly initNames: (string | null)[] = [];
  readonly counts = new Map<TapAnomaly, number>();
  starts = 0;
  ends = 0;
  listens = false;
  interfaceDrops = 0;
  ignored = 0;

  request(request: Parameters<TapListener['request']>[0]): void {
    this.starts++;
    this.identities.push(request.identity);
    if (request.kind === 'init') this.initNames.push(request.initName ?? null);
    this.told.push(
      `${request.kind} ${request.identity?.action ?? 'unknown'} ${request.contentLength}`,
    );
  }

  answer(_connection: number, _address: number, status: number): void {
    this.ends++;
    this.told.push(`answer ${status}`);
  }

  closed(_connection: number, _address: number, reset: boolean): void {
    this.told.push(reset ? 'reset' : 'closed');
  }

  lost(reason: string): void {
    this.told.push(`lost ${reason}`);
    this.listens = false;
  }

  listening(): void {
    this.listens = true;
  }

  counted(interfaceDrops: number, ignored: number): void {
    this.interfaceDrops += interfaceDrops;
    this.ignored += ignored;
  }

  anomaly(kind: TapAnomaly): void {
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
  }

  count(kind: TapAnomaly): number {
    return this.counts.get(kind) ?? 0;
  }

  /** Told since the last call. */
  take(): string[] {
    return this.told.splice(0);
  }
}

export const OPTIONS: ConnectionOptions = {
  port: 8080,
  capacity: 64,
  invokers: [],
  longestRequest: 660_000_000 as Micros,
};

/**
 * The kernel filter and tcpdump, played: passes what the filter passes and cuts at the snapshot.
 */
export class Wire {
  readonly recorder: Recorder;
  readonly connections: Connections;
  readonly #packet = new TcpPacket();
  at = BEGIN;

  constructor(options: Partial<ConnectionOptions> = {}, recorder = new Recorder()) {
    this.recorder = recorder;
    this.connections = new Connections(recorder, { ...OPTIONS, ...options });
    this.connections.sources.setGateways([INVOKER]);
    this.connections.bind(CONTAINER, BEGIN - 1_000_000);
  }

  send(segment: Segment, bridge = 1): void {
    this.at += 10;
    const fromContainer = segment.sourcePort === 8080;
    const start = Buffer.from(segment.payload.subarray(0, 4)).toString('latin1');
    const flagged = fromContainer && (segment.flags & (FIN | SYN | RST)) !== 0;
    const expected = fromContainer ? start === 'HTTP' : ['POST', '{"ac', '{"va'].includes(start);
    if (!flagged && !expected) return;
    const bytes = frame(segment);
    const captured = Math.min(bytes.length, SNAPSHOT);
    if (!readTcp(bytes.subarray(0, captured), 0, captured, bytes.length, this.#packet))
      throw new Error('not TCP');
    this.#packet.at = this.at;
    this.connections.packet(bytes.subarray(0, captured), this.#packet, bridge);
  }

  connect(
    port: number,
    options: { from?: number; to?: number; isn?: number; seen?: boolean } = {},
  ): Conversation {
    return new Conversation(this, port, options);
  }
}

/** One TCP connection between an invoker and a container. */
export class Conversation {
  readonly #wire: Wire;
  readonly #port: number;
  readonly #client: number;
  readonly #server: number;
  /** The next byte of each side. */
  sent: number;
  answered: number;

  constructor(
    wire: Wire,
    port: number,
    options: { from?: number; to?: number; isn?: number; seen?: boolean },
  ) {
    this.#wire = wire;
    this.#port = port;
    this.#client = options.from ?? INVOKER;
    this.#server = options.to ?? CONTAINER;
    this.sent = ((options.isn ?? 4_294_967_000) + 1) >>> 0;
    this.answered = 777_001;
    if (options.seen !== false) this.synAck();
  }

  synAck(): void {
    this.#fromServer(SYN | ACK, this.answered - 1, Buffer.alloc(0));
  }

  /** Sends as one segment; `advance` false: a copy of what has been sent, or will be. */
  send(payload: string | Uint8Array, at = this.sent, advance = true): void {
    const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload;
    this.#wire.send({
      source: this.#client,
      destination: this.#server,
      sourcePort: this.#port,
      destinationPort: 8080,
      sequence: at,
      acknowledged: this.answered,
      flags: ACK,
      payload: bytes,
    });
    if (advance) this.sent = (at + bytes.length) >>> 0;
  }

  /** Sends a stream in segments of these sizes; the rest in one. */
  split(payload: string | Uint8Array, ...sizes: number[]): void {
    const bytes = Buffer.from(payload);
    let offset = 0;
    for (const size of [...sizes, bytes.length]) {
      if (offset >= bytes.length) return;
      this.send(bytes.subarray(offset, offset + size));
      offset += size;
    }
  }

  answer(payload: string, flags = 0): void {
    const bytes = Buffer.from(payload);
    this.#fromServer(ACK | flags, this.answered, bytes);
    this.answered = (this.answered + bytes.length) >>> 0;
  }

  answerAgain(payload: string): void {
    this.#fromServer(ACK, (this.answered - Buffer.byteLength(payload)) >>> 0, Buffer.from(payload));
  }

  fin(): void {
    this.#fromServer(FIN | ACK, this.answered, Buffer.alloc(0));
  }

  rst(): void {
    this.#fromServer(RST | ACK, this.answered, Buffer.alloc(0));
  }

  /** A FIN that the capture of closes delivers, stamped `at`. */
  lateFin(at: number): void {
    const packet = new TcpPacket();
    packet.source = this.#server;
    packet.destination = this.#client;
    packet.sourcePort = 8080;
    packet.destinationPort = this.#port;
    packet.sequence = this.answered;
    packet.flags = FIN | ACK;
    packet.at = at;
    this.#wire.connections.close(packet, 1);
  }

  #fromServer(flags: number, sequence: number, payload: Uint8Array): void {
    this.#wire.send({
      source: this.#server,
      destination: this.#client,
      sourcePort: 8080,
      destinationPort: this.#port,
      sequence: sequence >>> 0,
      acknowledged: this.sent,
      flags,
      payload,
    });
  }
}

export interface RunFields {
  action?: string;
  value?: string;
  extra?: string;
}

/** The body of `/run` as the invoker sends it; `extra` goes before `deadline`. */
export function runBody({
  action = '/guest/plain',
  value = '{}',
  extra = '',
}: RunFields = {}): string {
  return (
    `{"action_name":"${action}","action_version":"0.0.1",` +
    `"activation_id":"0123456789abcdef0123456789abcdef",` +
    `${extra}"deadline":"1700000060000","namespace":"guest","transaction_id":"tid",` +
    `"value":${value}}`
  );
}

/** The body of `/init` as a real OpenWhisk sends it: the environment stands behind the code. */
export function initBody({
  action = '/guest/plain',
  code = 'function main() { return {} }',
  name = 'plain',
} = {}): string {
  const environment = {
    __OW_DEADLINE: '1700000060000',
    __OW_ACTION_NAME: action,
    __OW_ACTION_VERSION: '0.0.1',
    __OW_ACTIVATION_ID: '0123456789abcdef0123456789abcdef',
    __OW_NAMESPACE: 'guest',
    __OW_TRANSACTION_ID: 'tid',
  };
  return JSON.stringify({ value: { name, binary: false, main: 'main', code, env: environment } });
}

export const initRequest = (body: string): string => headOf('/init', body) + body;

export function headOf(path: string, body: string | number, headers = ''): string {
  const length = typeof body === 'number' ? body : Buffer.byteLength(body);
  return (
    `POST ${path} HTTP/1.1\r\nAccept: application/json\r\n${headers}Content-Length: ${length}\r\n` +
    'Content-Type: application/json\r\nHost: 172.17.0.2:8080\r\nConnection: Keep-Alive\r\n' +
    'User-Agent: Apache-HttpClient/4.5.5 (Java/1.8.0_212)\r\nAccept-Encoding: gzip,deflate\r\n\r\n'
  );
}

export const runRequest = (body: string): string => headOf('/run', body) + body;
export const answerOf = (status = 200, body = '{"ok":true}'): string =>
  `HTTP/1.1 ${status} X\r\nContent-Type: application/json\r\n` +
  `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
