import type { Micros } from '../../../config/index.js';
import type { Bridge } from './container-engine.js';

/**
 * Who is called, from the head of `/run` (or the environment inside `/init`); all strings are the
 * invoker's, none the user's.
 */
export interface Identity {
  /** Fully qualified: `/namespace/package/action` or `/namespace/action`. */
  readonly action: string;
  /** `action_version`, e.g. `0.0.1`. */
  readonly version: string;
  readonly activationId: string;
  /** Wall clock at which OpenWhisk gives up, us; 0 where the head does not say. */
  readonly deadline: Micros;
}

export type RequestKind = 'init' | 'run' | 'other';

/**
 * A request head on its way to a container. The object is reused, so keep only its values.
 */
export interface TapRequest {
  /** Identifies the TCP connection among all of this tap's life. */
  readonly connection: number;
  /** IPv4 of the container, as an unsigned 32-bit number; see `addressOf`. */
  readonly address: number;
  readonly kind: RequestKind;
  /**
   * Null if it is unreadable: the activation is unknown. In an `/init` with much code it is beyond
   * the captured bytes.
   */
  readonly identity: Identity | null;
  /**
   * Of an `/init`: the action's own name, without namespace and package; absent or null: it could
   * not be read.
   */
  readonly initName?: string | null;
  /** Kernel's stamp of the packet, converted to the platform's steady clock. */
  readonly at: Micros;
  /** `Content-Length` of the head, -1 if it has none. */
  readonly contentLength: number;
}

export type LossReason =
  /** tcpdump ended and is being started again: open activations lose their ends. */
  | 'restarted'
  /** The kernel dropped packets for tcpdump. */
  | 'dropped'
  /** No tcpdump, or no right to run it: nothing will be seen until an operator helps. */
  | 'unavailable';

/** Why a packet was set aside; each is a counter. */
export type TapAnomaly =
  | 'unknown_source'
  | 'unexpected_sequence'
  | 'retransmission'
  | 'pipelined'
  | 'unreadable_head'
  | 'connection_evicted'
  | 'malformed_packet'
  | 'clock_step';

export interface TapListener {
  /** Ends the connection's last request, if that was not answered: its answer was missed. */
  request(request: TapRequest): void;
  /**
   * The final status line (not 1xx) of the answer to the oldest unanswered request of the
   * connection.
   */
  answer(connection: number, address: number, status: number, at: Micros): void;
  /**
   * FIN or RST from the container, or the connection is remembered no longer (`reset` true); it is
   * forgotten.
   */
  closed(connection: number, address: number, reset: boolean, at: Micros): void;
  /**
   * Packets of this bridge are seen from now on: nothing is before the first of these, nor from
   * {@link lost} to the next. Null: all bridges.
   */
  listening(bridge: string | null): void;
  /**
   * Packets were missed; `bridge` null: on all. User limits must apply until it listens again.
   */
  lost(reason: LossReason, bridge: string | null, detail: string): void;
  /**
   * Counters of tcpdump that are no loss: packets that the interface dropped, and counters that
   * cannot be believed.
   */
  counted(interfaceDrops: number, ignored: number): void;
  anomaly(kind: TapAnomaly, address: number): void;
}

/**
 * Sees each request and answer between invoker and containers, without standing in the way.
 */
export interface Tap {
  start(listener: TapListener): void;
  /** The bridges to listen on, as they are now; called again at each change. */
  watch(bridges: readonly Bridge[]): void;
  /**
   * Tells whether an address is a container's now, and so whether packets to it count. Called by
   * the hook in the engine's order as containers start and end; an address may move to another
   * container at once, without `unbind`. Connections that were opened before `startedAt` (the
   * engine's stamp, by the wall clock of that moment) are the earlier container's.
   */
  bind(address: number, startedAt: Micros): void;
  unbind(address: number): void;
  stop(): Promise<void>;
}

/** Dotted IPv4 → unsigned number; NaN where it is not one. */
export function addressOf(dotted: string): number {
  const parts = dotted.split('.');
  if (parts.length !== 4) return Number.NaN;
  let value = 0;
  for (const part of parts) {
    if (!/^\d{1,3}$/.test(part) || Number(part) > 255) return Number.NaN;
    value = value * 256 + Number(part);
  }
  return value;
}

export function dottedOf(address: number): string {
  return [24, 16, 8, 0].map((bits) => (address >>> bits) & 255).join('.');
}
