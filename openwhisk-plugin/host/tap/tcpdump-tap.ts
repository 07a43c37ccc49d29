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
import type { CaptureOptions } from './capture-command.js';
import { Connections } from './connections.js';
import { readTcp, TcpPacket } from './packet.js';
import { removeAbandonedPipeFolders } from './pipe-folder.js';
import { Capture } from './tcpdump.js';
import { WallClockCheck } from './wall-clock.js';

export interface TapOptions {
  /** Port on which action containers serve. OpenWhisk: 8080. */
  readonly port: number;
  /**
   * Dotted addresses of invokers that do not call from a bridge's own address; empty: learned from
   * their first calls.
   */
  readonly invokers: readonly string[];
  readonly tcpdump: string;
  readonly bufferKib: number;
  /** Connections remembered at once; some 130 bytes each. */
  readonly connections: number;
  /**
   * No request lasts longer: the longest time limit an action may have, and what the invoker adds
   * to it.
   */
  readonly longestRequest: Micros;
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
  bufferKib: 4096,
  connections: 4096,
  longestRequest: millisToMicros(millis(11 * 60_000)),
  clock: steadyClock,
  wallNow: () => Date.now() * 1000,
  timers: systemTimers,
};

/**
 * Limits based on dropped packets must not apply for more than .2 s; each check costs .3 ms of CPU.
 */
const DROP_CHECK = millis(100);

interface Watched {
  readonly bridge: Bridge;
  readonly capture: Capture;
  listening: boolean;
}

/**
 * The tap: a tcpdump on each bridge, and a reader that believes only what can be so.
 */
export class TcpdumpTap implements Tap {
  readonly #options: TapOptions;
  readonly #watched = new Map<string, Watched>();
  readonly #leaving = new Set<Promise<void>>();
  readonly #packet = new TcpPacket();
  readonly #clock: WallClockCheck;
  #listener: TapListener | null = null;
  #connections: Connections | null = null;
  #captureOptions: CaptureOptions;
  #nextBridge = 1;
  #checks: Cancel | null = null;
  #packets = 0;

  constructor(options: Partial<TapOptions> = {}) {
    this.#options = { ...DEFAULTS, ...options };
    const { tcpdump, port, bufferKib } = this.#options;
    this.#captureOptions = { tcpdump, port, bufferKib };
    this.#clock = new WallClockCheck(this.#options.clock, this.#options.wallNow);
  }

  /** Packets read so far. */
  get packets(): number {
    return this.#packets;
  }

  /** Processes of the running captures, so that their CPU can be counted with ours. */
  get pids(): number[] {
    return [...this.#watched.values()].map((one) => one.capture.pid).filter((pid) => pid !== null);
  }

  /** Interfaces on which a capture is running now. */
  get listeningOn(): string[] {
    return [...this.#watched.values()]
      .filter((one) => one.listening)
      .map((one) => one.bridge.interfaceName);
  }

  start(listener: TapListener): void {
    if (this.#listener !== null) return;
    this.#listener = listener;
    removeAbandonedPipeFolders(this.#options.wallNow() / 1000);
    this.#connections = new Connections(listener, {
      port: this.#options.port,
      capacity: this.#options.connections,
      invokers: this.#options.invokers.map(addressOf).filter((address) => !Number.isNaN(address)),
      longestRequest: this.#options.longestRequest,
    });
    this.#checks = this.#options.timers.every(DROP_CHECK, () => {
      this.#checkClock();
      for (const one of this.#watched.values()) if (one.listening) one.capture.askForDrops();
    });
  }

  watch(bridges: readonly Bridge[]): void {
    const connections = this.#connections;
    const listener = this.#listener;
    if (connections === null || listener === null) return;
    const gateways = bridges
      .map((bridge) => addressOf(bridge.gateway ?? ''))
      .filter((address) => !Number.isNaN(address));
    connections.sources.setGateways(gateways);
    const requested = new Set(bridges.map((bridge) => bridge.interfaceName));
    for (const [name, one] of this.#watched) {
      if (requested.has(name)) continue;
      this.#watched.delete(name);
      const leaving = one.capture.stop().finally(() => this.#leaving.delete(leaving));
      this.#leaving.add(leaving);
    }
    for (const bridge of bridges) {
      if (!this.#watched.has(bridge.interfaceName)) this.#capture(bridge, connections, listener);
    }
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
    this.#checks = null;
    const captures = [...this.#watched.values()].map((one) => one.capture.stop());
    this.#watched.clear();
    await Promise.all([...captures, ...this.#leaving]);
  }

  #capture(bridge: Bridge, connections: Connections, listener: TapListener): void {
    const id = this.#nextBridge++;
    const name = bridge.interfaceName;
    const packet = this.#packet;
    /** The last reported reason why it cannot start. */
    let notified: string | null = null;
    const capture = new Capture(name, this.#captureOptions, this.#options.timers, {
      packet: (bytes, offset, captured, original, at) => {
        this.#packets++;
        if (!readTcp(bytes, offset, captured, original, packet)) {
          listener.anomaly('malformed_packet', 0);
          return;
        }
        // Each packet: the SYN-ACK that begins a connection has no payload, and its stamp decides
        // whose the connection is.
        this.#checkClock();
        packet.at = this.#clock.toSteady(at);
        connections.packet(bytes, packet, id);
      },
      listening: () => {
        notified = null;
        watched.listening = true;
        listener.listening(name);
      },
      ended: (never, detail) => {
        watched.listening = false;
        connections.distrust(id);
        // A capture that cannot start is retried; each reason is reported once.
        if (never && notified === detail) return;
        notified = never ? detail : null;
        listener.lost(never ? 'unavailable' : 'restarted', name, detail);
      },
      dropped: (count) => {
        connections.distrust(id);
        listener.lost('dropped', name, `the kernel dropped ${count} packets`);
      },
      counted: (interfaceDrops, ignored) => listener.counted(interfaceDrops, ignored),
    });
    const watched: Watched = { bridge, capture, listening: false };
    this.#watched.set(name, watched);
    capture.start();
  }

  #checkClock(): void {
    if (!this.#clock.check()) return;
    if (this.#connections !== null) this.#connections.stepped = this.#clock.stepped;
    this.#listener?.anomaly('clock_step', 0);
  }
}
