import { type Micros, messageOf } from '../../config/index.js';
import { ManagedContainer } from '../control/index.js';
import {
  type ContainerState,
  type Decider,
  emptySample,
  type UsageSample,
} from '../decision/index.js';
import { type ContainerRole, roleOf } from '../host/docker/index.js';
import {
  addressOf,
  type ContainerInfo,
  type Identity,
  type LimitHandle,
  type Platform,
  type UsageProbe,
} from '../host/ports/index.js';

/** State of a container, as far as its packets show. */
type Phase = 'starting' | 'idle' | 'running' | 'paused';

/** One container of this host, with its open files and its connection state. */
export class Container extends ManagedContainer<Container> {
  readonly info: ContainerInfo;
  /** Derived from its name, which is all that is known before its first `/run`. */
  readonly role: ContainerRole;
  /** NaN without an IPv4 address: then no packet is seen, and user limits apply. */
  readonly address: number;
  readonly handle: LimitHandle;
  readonly probe: UsageProbe;
  /** Connection of the unanswered `/init`, -1 if there is none. */
  initConnection = -1;
  initAt = 0 as Micros;
  /** `/init` has no answer yet, or a failed one: the container may end without any `/run`. */
  initPending = false;
  /** The pending `/init`'s activation and the action's own name; null if unreadable. */
  initIdentity: Identity | null = null;
  initName: string | null = null;
  /** Its `/init` failed: OpenWhisk removes it. */
  initFailed = false;
  /** A memory reduction is under way. */
  memoryBusy = false;
  /** Its memory is protected from other containers' loans (v2 only); null before the first try. */
  isProtected: boolean | null = null;
  /** Which of the registry's slices it belongs to. */
  slice = 0;
  readonly sample: UsageSample = emptySample();
  /** When its memory was last read while idle, monotonic ms. */
  idleReadAt = Number.NEGATIVE_INFINITY;
  /** The CPU counter as last read at an activation's end, us, and when. */
  cpuCounter = -1;
  cpuCounterAt = Number.NEGATIVE_INFINITY;
  /** The counter up to which its CPU is in the host's sum, us; -1: not read yet. */
  cpuSummed = -1;

  constructor(info: ContainerInfo, state: ContainerState, handle: LimitHandle, probe: UsageProbe) {
    super(info.id, state);
    this.info = info;
    this.role = roleOf(info.name, info.pod === undefined ? 'container' : 'pod');
    this.address = info.address === null ? Number.NaN : addressOf(info.address);
    this.handle = handle;
    this.probe = probe;
  }

  get phase(): Phase {
    if (this.paused) return 'paused';
    if (this.running > 0) return 'running';
    return this.boosted ? 'starting' : 'idle';
  }
}

/** Containers are sampled in slices, so that many never block the event loop for long. */
export const SLICES = 5;

/** A container that cannot be managed, and why; `inspect` shows it. */
export interface Unmanaged {
  readonly id: string;
  readonly name: string;
  readonly reason: string;
}

/**
 * Containers by identifier and by address. Docker reuses an address at once, so the container that
 * the engine announced last owns it; time stamps are not compared, because the wall clock may have
 * been set.
 */
export class ContainerRegistry {
  readonly #platform: Platform;
  readonly #decider: Decider;
  readonly #byId = new Map<string, Container>();
  readonly #byAddress = new Map<number, Container>();
  readonly #unmanaged = new Map<string, Unmanaged>();
  /** The containers of each slice that are sampled: those that run an activation or are boosted. */
  readonly #slices = Array.from({ length: SLICES }, () => new Set<Container>());
  #added = 0;

  constructor(platform: Platform, decider: Decider) {
    this.#platform = platform;
    this.#decider = decider;
  }

  /** Opens the container's files; {@link bind} follows. Null: it cannot be managed. */
  add(info: ContainerInfo): Container | null {
    if (this.#byId.has(info.id)) return null;
    let handle: LimitHandle | null = null;
    let probe: UsageProbe;
    try {
      handle = this.#platform.limits.open(info);
      probe = this.#platform.usage.open(info);
    } catch (error) {
      handle?.close();
      this.#unmanaged.set(info.id, { id: info.id, name: info.name, reason: messageOf(error) });
      return null;
    }
    const container = new Container(info, this.#decider.container(info.user), handle, probe);
    if (info.paused) container.setPaused(true, this.#platform.clock.monotonic());
    this.#byId.set(info.id, container);
    container.slice = this.#added++ % SLICES;
    return container;
  }

  /** Gives the container its address, last: the tap may deliver a request within this call. */
  bind(container: Container): void {
    if (Number.isNaN(container.address)) return;
    this.#byAddress.set(container.address, container);
    this.#platform.tap.bind(container.address, container.info.startedAt);
  }

  /** Removes and closes the container; undefined if it is unknown. */
  remove(id: string): Container | undefined {
    this.#unmanaged.delete(id);
    const container = this.#byId.get(id);
    if (container === undefined) return undefined;
    this.#byId.delete(id);
    this.unwatch(container);
    container.ended = true;
    if (this.#byAddress.get(container.address) === container) {
      this.#byAddress.delete(container.address);
      this.#platform.tap.unbind(container.address);
    }
    container.handle.close();
    container.probe.close();
    return container;
  }

  get(id: string): Container | undefined {
    return this.#byId.get(id);
  }

  /** The container that owns this address now. */
  at(address: number): Container | undefined {
    return this.#byAddress.get(address);
  }

  get size(): number {
    return this.#byId.size;
  }

  values(): IterableIterator<Container> {
    return this.#byId.values();
  }

  /** Samples the container until {@link unwatch}: it runs an activation, or it is boosted. */
  watch(container: Container): void {
    if (!container.ended) this.#slices[container.slice]!.add(container);
  }

  unwatch(container: Container): void {
    this.#slices[container.slice]!.delete(container);
  }

  /** The watched containers of one slice, 0 to SLICES - 1. */
  inSlice(slice: number): Iterable<Container> {
    return this.#slices[slice]!;
  }

  unmanaged(): readonly Unmanaged[] {
    return [...this.#unmanaged.values()];
  }

  close(): void {
    for (const id of [...this.#byId.keys()]) this.remove(id);
  }
}
