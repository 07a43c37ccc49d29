import type { Clock, Micros } from '../../config/index.js';
import { messageOf } from '../../config/index.js';
import { ManagedContainer } from '../control/index.js';
import type { ContainerState, Decider, UsageSample } from '../decision/index.js';
import { emptySample } from '../decision/index.js';
import { type ContainerRole, roleOf } from '../host/docker/index.js';
import type {
  ContainerInfo,
  Identity,
  LimitHandle,
  LimitWriter,
  Tap,
  UsageMonitor,
  UsageProbe,
} from '../host/ports/index.js';
import { addressOf } from '../host/ports/index.js';

/** What a container is doing, as far as its packets show. */
type Phase = 'starting' | 'idle' | 'running' | 'paused';

/** One container of this host, with its open files and its connection state. */
export class Container extends ManagedContainer<Container> {
  readonly info: ContainerInfo;
  /** By its name; the only thing known before its first `/run`. */
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
  /** Of the pending `/init`: its activation and the action's own name; null if unreadable. */
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
    this.role = roleOf(info.name);
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

/**
 * Containers are looked at in turns, every few ms some of them, so that many never make one long
 * pause.
 */
export const SLICES = 10;

/** What the registry cannot manage, and why; `inspect` shows it. */
export interface Unmanaged {
  readonly id: string;
  readonly name: string;
  readonly reason: string;
}

/** The part of the platform that the registry opens things with. */
export interface RegistryPlatform {
  readonly clock: Clock;
  readonly limits: LimitWriter;
  readonly usage: UsageMonitor;
  readonly tap: Pick<Tap, 'bind' | 'unbind'>;
}

/**
 * Containers by identifier and by address. An address is a container's from its start until its end
 * only, and Docker hands it out again at once. The order in which the engine tells of starts
 * decides who has it: the last one. No stamps are compared, because the wall clock may have been
 * set between two starts. Which packets are from before a start is the tap's to say. Descriptors
 * are opened here, at the start, so that nothing is opened while an activation waits.
 */
export class ContainerRegistry {
  readonly #platform: RegistryPlatform;
  readonly #decider: Decider;
  readonly #byId = new Map<string, Container>();
  readonly #byAddress = new Map<number, Container>();
  readonly #unmanaged = new Map<string, Unmanaged>();
  /**
   * Of each slice the containers that are looked at: those in which something runs, or that are
   * boosted.
   */
  readonly #slices = Array.from({ length: SLICES }, () => new Set<Container>());
  #added = 0;

  constructor(platform: RegistryPlatform, decider: Decider) {
    this.#platform = platform;
    this.#decider = decider;
  }

  /**
   * Opens it; {@link bind} follows. A container whose cgroup cannot be opened is kept as unmanaged,
   * and null is returned.
   */
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

  /**
   * Gives the container its address. The tap may deliver a request within this call, because a fast
   * container is called before the engine announces its start: whatever a decision depends on must
   * be set before.
   */
  bind(container: Container): void {
    if (Number.isNaN(container.address)) return;
    this.#byAddress.set(container.address, container);
    this.#platform.tap.bind(container.address, container.info.startedAt);
  }

  /** Forgets and closes; undefined when it was not known. */
  remove(id: string): Container | undefined {
    this.#unmanaged.delete(id);
    const container = this.#byId.get(id);
    if (container === undefined) return undefined;
    this.#byId.delete(id);
    this.rest(container);
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

  /** Who has this address now. */
  at(address: number): Container | undefined {
    return this.#byAddress.get(address);
  }

  get size(): number {
    return this.#byId.size;
  }

  values(): IterableIterator<Container> {
    return this.#byId.values();
  }

  /** Something runs in it from now on, or it is boosted: it has its turns until {@link rest}. */
  watch(container: Container): void {
    if (!container.ended) this.#slices[container.slice]!.add(container);
  }

  rest(container: Container): void {
    this.#slices[container.slice]!.delete(container);
  }

  /** Whose turn it is: about one in {@link SLICES} of those that are watched; 0 to SLICES - 1. */
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
