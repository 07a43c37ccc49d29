import {
  type Cancel,
  type Clock,
  type Micros,
  millis,
  millisToMicros,
  steadyClock,
  systemTimers,
  type Timers,
} from '../../../config/index.js';
import { addressOf, type Bridge, type Tap, type TapListener } from '../ports/index.js';
import type { CaptureKind } from './capture-command.js';
import { Connections } from './connections.js';
import { readTcp, TcpPacket } from './packet.js';
import { removeAbandonedPipes } from './pipe.js';
import { rangeOf } from './sources.js';
import { Capture } from './tcpdump.js';
import { WallClockCheck } from './wall-clock.js';

export interface TapOptions {
  /** Port on which action containers serve. */
  readonly port: number;
  /**
   * Addresses of invokers other than a bridge's own, dotted, or ranges such as `10.1.2.0/24`;
   * empty: learned from first requests.
   */
  readonly invokers: readonly string[];
  readonly tcpdump: string;
  /** A clock that is never set: all time stamps for the listener come from its `wall()`. */
  readonly clock: Clock;
  /** The wall clock as it is now, steps included; us. */
  readonly wallNow: () => number;
  readonly timers: Timers;
}

const DEFAULTS: TapOptions = {
  port: 8080,
  invokers: [],
  tcpdump: 'tcpdump',
  clock: steadyClock,
  wallNow: () => Date.now() * 1000,
  timers: systemTimers,
};

/** Connections remembered at once, some 300 bytes each; their closes come two seconds late. */
const CONNECTIONS = 16_384;
/** The longest time limit an action may have, and what the invoker adds to it. */
const LONGEST_REQUEST = millisToMicros(millis(11 * 60_000));
/** Limits based on dropped packets must not apply for over 0.2 s. */
const DROP_CHECK = millis(100);
/** Checks after which every tcpdump is asked for its counters, at 0.3 ms of CPU. */
const REGULAR_CHECKS = 10;
/**
 * Heads of a bridge after which its tcpdump is asked earlier: the kernel drops when its buffer of
 * some 1900 packets is full, and delivers these. Pods are many, with few packets each.
 */
const MANY_HEADS = 500;
/** Some 2 MiB each, and 0.03 % of a core when nothing is called. */
const MAX_PODS = 64;

/** The captures of one bridge or pod. It is listened to while its heads are. */
class Watched {
  readonly namespaceOf: number | undefined;
  /** Names the connections that its captures see. */
  readonly number: number;
  readonly captures = new Map<CaptureKind, Capture>();
  readonly running = new Set<CaptureKind>();
  /** Packets since the last request for counters. */
  unaskedHeads = 0;
  /** The last reported reason why one cannot start. */
  readonly reported = new Map<CaptureKind, string>();

  constructor(namespaceOf: number | undefined, number: number) {
    this.namespaceOf = namespaceOf;
    this.number = number;
  }

  askForDrops(isRegular: boolean): void {
    for (const kind of isRegular ? this.running : (['heads'] as const))
      if (this.running.has(kind)) this.captures.get(kind)?.askForDrops(isRegular);
    this.unaskedHeads = 0;
  }

  get mayHaveDropped(): boolean {
    if (this.namespaceOf !== undefined) return false;
    return this.unaskedHeads >= MANY_HEADS || this.captures.get('heads')?.isDropping === true;
  }

  async stop(): Promise<void> {
    await Promise.all([...this.captures.values()].map((capture) => capture.stop()));
  }
}

/**
 * Two tcpdumps on each bridge, or on all interfaces of a node, or one in each pod, and one reader
 * of their packets.
 */
export class TcpdumpTap implements Tap {
  readonly #options: TapOptions;
  /** By the bridge's interface. */
  readonly #watched = new Map<string, Watched>();
  readonly #leaving = new Set<Promise<void>>();
  readonly #packet = new TcpPacket();
  readonly #clock: WallClockCheck;
  #listener: TapListener | null = null;
  #connections: Connections | null = null;
  #nextBridge = 1;
  /** Pods without a capture, because there are too many. */
  #refused: ReadonlySet<string> = new Set();
  #checks: Cancel | null = null;

  constructor(options: Partial<TapOptions> = {}) {
    this.#options = { ...DEFAULTS, ...options };
    this.#clock = new WallClockCheck(this.#options.clock, this.#options.wallNow);
  }

  /** Processes of the running captures, so that their CPU can be counted as the hook's. */
  get pids(): number[] {
    return [...this.#watched.values()]
      .flatMap(({ captures }) => [...captures.values()])
      .map((capture) => capture.pid)
      .filter((pid) => pid !== null);
  }

  /** Interfaces on which every capture is running now. */
  get listeningOn(): string[] {
    return [...this.#watched]
      .filter(([, { running, captures }]) => running.size === captures.size)
      .map(([name]) => name);
  }

  start(listener: TapListener): void {
    if (this.#listener !== null) return;
    this.#listener = listener;
    const { port, invokers, wallNow, timers } = this.#options;
    removeAbandonedPipes(wallNow() / 1000);
    this.#connections = new Connections(listener, {
      port,
      capacity: CONNECTIONS,
      invokers: invokers.map(rangeOf),
      longestRequest: LONGEST_REQUEST,
    });
    let turn = 0;
    this.#checks = timers.every(DROP_CHECK, () => {
      this.#checkClock();
      this.#connections?.settle(this.#options.clock.wall());
      turn++;
      let n = 0;
      for (const one of this.#watched.values()) {
        const isRegular = (turn + n++) % REGULAR_CHECKS === 0;
        if (isRegular || one.mayHaveDropped) one.askForDrops(isRegular);
      }
    });
  }

  watch(bridges: readonly Bridge[]): void {
    if (this.#connections === null || this.#listener === null) return;
    this.#connections.sources.setGateways(addressesOf(bridges.map(({ gateway }) => gateway ?? '')));
    const requested = new Map(bridges.map((bridge) => [bridge.interfaceName, bridge]));
    for (const [name, one] of this.#watched) {
      const bridge = requested.get(name);
      if (bridge !== undefined && bridge.namespaceOf === one.namespaceOf) continue;
      if (bridge !== undefined) this.#listener.lost('restarted', name, 'the pod has a new sandbox');
      this.#watched.delete(name);
      const leaving = one.stop().finally(() => this.#leaving.delete(leaving));
      this.#leaving.add(leaving);
      this.#connections.forget(one.number);
    }
    const refused = new Set<string>();
    for (const [name, bridge] of requested) {
      if (this.#watched.has(name)) continue;
      if (bridge.namespaceOf === undefined || this.#watched.size < MAX_PODS)
        this.#listen(bridge, this.#connections, this.#listener);
      else refused.add(name);
    }
    for (const name of refused)
      if (!this.#refused.has(name))
        this.#listener.lost('unavailable', name, `${MAX_PODS} pods are captured already`);
    this.#refused = refused;
  }

  bind(address: number, startedAt: Micros): void {
    this.#checkClock();
    // A start in the future is one from before the clock was set back, perhaps before this process:
    // the address is the container's from now on.
    const since = Math.min(this.#options.clock.wall(), this.#clock.toSteady(startedAt));
    this.#connections?.bind(address, since);
  }

  unbind(address: number): void {
    this.#connections?.unbind(address);
  }

  async stop(): Promise<void> {
    this.#checks?.();
    // Final: a bridge that comes or goes meanwhile must start no capture, which nothing would stop.
    this.#connections = null;
    const captures = [...this.#watched.values()].map((one) => one.stop());
    this.#watched.clear();
    await Promise.all([...captures, ...this.#leaving]);
  }

  #listen(bridge: Bridge, connections: Connections, listener: TapListener): void {
    const { namespaceOf } = bridge;
    const watched = new Watched(namespaceOf, this.#nextBridge++);
    this.#watched.set(bridge.interfaceName, watched);
    const kinds = namespaceOf === undefined ? (['heads', 'closes'] as const) : (['heads'] as const);
    for (const kind of kinds) {
      const capture = this.#capture(bridge, kind, watched, connections, listener);
      watched.captures.set(kind, capture);
    }
    for (const capture of watched.captures.values()) capture.start();
  }

  #capture(
    { interfaceName: name, namespaceOf }: Bridge,
    kind: CaptureKind,
    watched: Watched,
    connections: Connections,
    listener: TapListener,
  ): Capture {
    const { tcpdump, port, timers } = this.#options;
    const packet = this.#packet;
    const options = { tcpdump, port, kind, ...(namespaceOf === undefined ? {} : { namespaceOf }) };
    return new Capture(name, options, timers, {
      packet: (bytes, offset, captured, original, at, link) => {
        if (!readTcp(bytes, offset, captured, original, packet, link)) {
          listener.anomaly('malformed_packet', 0);
          return;
        }
        // Each packet: the SYN-ACK that begins a connection has no payload, and its stamp decides
        // whose the connection is.
        this.#checkClock();
        packet.at = this.#clock.toSteady(at);
        if (kind === 'heads') {
          watched.unaskedHeads++;
          connections.packet(bytes, packet, watched.number);
        } else connections.close(packet, watched.number);
      },
      listening: () => {
        watched.running.add(kind);
        watched.reported.delete(kind);
        if (kind === 'heads') listener.listening(name);
      },
      ended: (unavailable, detail) => {
        watched.running.delete(kind);
        if (kind === 'heads') connections.distrust(watched.number);
        // Without heads that is the smaller loss.
        else if (!watched.running.has('heads')) return;
        // A capture that cannot start is retried; each reason is reported once.
        if (unavailable && watched.reported.get(kind) === detail) return;
        if (unavailable) watched.reported.set(kind, detail);
        else watched.reported.delete(kind);
        if (kind === 'closes') listener.lost('closes', name, detail);
        else listener.lost(unavailable ? 'unavailable' : 'restarted', name, detail);
      },
      dropped: (count) => {
        const detail = `the kernel dropped ${count} packets`;
        if (kind === 'heads') connections.distrust(watched.number);
        listener.lost(kind === 'heads' ? 'dropped' : 'closes', name, detail);
      },
      counted: (interfaceDrops, ignored) => listener.counted(interfaceDrops, ignored),
    });
  }

  #checkClock(): void {
    if (!this.#clock.check()) return;
    if (this.#connections !== null) this.#connections.stepped = this.#clock.stepped;
    this.#listener?.anomaly('clock_step', 0);
  }
}

const addressesOf = (dotted: readonly string[]): number[] =>
  dotted.map(addressOf).filter((address) => !Number.isNaN(address));
