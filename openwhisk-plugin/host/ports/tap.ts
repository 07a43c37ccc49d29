import { isIPv4 } from 'node:net';
import type { Micros } from '../../../config/index.js';
import type { Bridge } from './container-engine.js';

/** An activation's identity, from the head of `/run` or the environment inside `/init`. */
export interface Identity {
  /** Fully qualified: `/namespace/package/action` or `/namespace/action`. */
  readonly action: string;
  /** `action_version`, e.g. `0.0.1`. */
  readonly version: string;
  readonly activationId: string;
  /** Wall clock of the activation's time limit, us; 0: not in the head. */
  readonly deadline: Micros;
}

export type RequestKind = 'init' | 'run' | 'other';

/** A request head on its way to a container. */
export interface TapRequest {
  /** Identifies the TCP connection among all of this tap's life. */
  readonly connection: number;
  /** IPv4 of the container, as an unsigned 32-bit number; see `addressOf`. */
  readonly address: number;
  readonly kind: RequestKind;
  /** Null if it is unreadable, or beyond the captured bytes of an `/init` with much code. */
  readonly identity: Identity | null;
  /** The action's own name in an `/init`, without namespace and package, if it can be read. */
  readonly initName?: string | null;
  /** Kernel's stamp of the packet, converted to the platform's steady clock. */
  readonly at: Micros;
  /** `Content-Length` of the head, -1 if it has none. */
  readonly contentLength: number;
}

export type LossReason =
  /** tcpdump ended and is started again: open activations lose their ends. */
  | 'restarted'
  /** The kernel dropped packets for tcpdump. */
  | 'dropped'
  /** No tcpdump, or no right to run it: nothing is seen until an operator helps. */
  | 'unavailable'
  /** Only FINs were missed: an activation whose client left ends by its deadline. */
  | 'closes';

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
  /** The final status (not 1xx) of the answer to the connection's open request. */
  answer(connection: number, address: number, status: number, at: Micros): void;
  /** FIN or RST from the container, or the connection is no longer remembered (`reset` true). */
  closed(connection: number, address: number, reset: boolean, at: Micros): void;
  /** Packets of this bridge are seen from now on, until {@link lost}. Null: all bridges. */
  listening(bridge: string | null): void;
  /**
   * Packets were missed; `bridge` null: on all. User limits apply until it listens again, but for
   * `closes`, without which it listens on.
   */
  lost(reason: LossReason, bridge: string | null, detail: string): void;
  /** Counters that are no loss: drops by the interface, and counters that are implausible. */
  counted(interfaceDrops: number, ignored: number): void;
  anomaly(kind: TapAnomaly, address: number): void;
}

/** Sees each request and answer between invoker and containers, from copies of packets. */
export interface Tap {
  start(listener: TapListener): void;
  /** The bridges to listen on, as they are now; called again at each change. */
  watch(bridges: readonly Bridge[]): void;
  /**
   * The address is a container's from now on. Called in the engine's order of starts and ends; an
   * address may move to another container at once, without `unbind`. Connections that were opened
   * before `startedAt` (the engine's stamp, wall clock) are the earlier container's.
   */
  bind(address: number, startedAt: Micros): void;
  unbind(address: number): void;
  stop(): Promise<void>;
}

/** Dotted IPv4 → unsigned number; NaN where it is not one. */
export function addressOf(dotted: string): number {
  if (!isIPv4(dotted)) return Number.NaN;
  return dotted.split('.').reduce((value, part) => value * 256 + Number(part), 0);
}

export function dottedOf(address: number): string {
  return [24, 16, 8, 0].map((bits) => (address >>> bits) & 255).join('.');
}
