import type { Bytes, Clock, Micros, Millis } from '../../config/index.js';
import { messageOf } from '../../config/index.js';
import type { Revision } from '../control/index.js';
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
import type { Activation } from './activations.js';

/**
 * How old a reading of a container's counters may be for an activation's end or the next one's
 * start to make do with it, ms.
 *
 * A whole reading costs as much as everything else at an activation's end (`memory.stat` makes the
 * kernel add up). Peaks and kills are counters, so a later reading has them; no peak of CPU is
 * taken from so short a window; what a function burns between its answer and its next call is its
 * own.
 */
export const SETTLED_MILLIS = 100;

/** What a container is doing, as far as its packets tell. */
export type Phase = 'starting' | 'idle' | 'running' | 'paused';

/**
 * One managed container from its start to its end; lives in the registry, everything about it hangs
 * here.
 */
export class Container {
  readonly info: ContainerInfo;
  /** By its name; the only thing known of it before its first `/run`. */
  readonly role: ContainerRole;
  /**
   * NaN where the container has no IPv4 address: then nothing of it is ever seen, and it keeps its
   * user's limits.
   */
  readonly address: number;
  readonly handle: LimitHandle;
  /** Largest memory limit that the groups over the container leave it. */
  readonly memoryCeiling: () => Bytes;
  readonly probe: UsageProbe;
  /**
   * Null until the first `/run` names it: a prewarmed container's name says nothing (field-notes
   * A1-13).
   */
  revision: Revision | null = null;
  /** Its place in the pools; the decider's. */
  readonly state: ContainerState;
  /** Newest running activation; they are linked through `older`. */
  newest: Activation | null = null;
  running = 0;
  /** Activations of this container's life; a container that ends after one was never warm. */
  activations = 0;
  /** Connection of the unanswered `/init`, -1 when there is none. */
  initConnection = -1;
  initAt = 0 as Micros;
  /**
   * Its activation has no answer yet to `/init`, or a failed one: it may end without any `/run`.
   */
  initPending = false;
  /**
   * Of the pending `/init`: whose activation it is, and the action's own name; null where that
   * could not be read.
   */
  initIdentity: Identity | null = null;
  initName: string | null = null;
  /** Its `/init` failed: OpenWhisk removes it. */
  initFailed = false;
  /** How long `/init` took, until the first `/run` takes it. */
  initMicros = 0 as Micros;
  /**
   * An asynchronous memory reduction is under way; `memoryWish` is the newest limit wished, -1
   * before the first.
   */
  memoryBusy = false;
  desiredMemory = -1;
  /** Paused by the engine's word or the freezer's; paused time is not run time. */
  paused = false;
  pausedAt = 0 as Millis;
  pausedMillis = 0 as Millis;
  /**
   * OOM kills by the kernel's counter and by the engine's events, and how many have been
   * attributed.
   */
  oomKills = 0;
  oomEvents = 0;
  oomAttributed = 0;
  /** Memory limit that was in force during the last activation. */
  memoryInForce = 0;
  /**
   * Limits were written for an activation since it was last at its user's: it must be put back when
   * it is idle.
   */
  limited = false;
  /** Its memory is protected from what others borrow (v2 only); null before anybody asked. */
  isProtected: boolean | null = null;
  /**
   * The tap listens on its bridge. While it does not, the user's limits are in force and nothing is
   * decided.
   */
  tapped = false;
  /** Boosted for its cold start; the weight and quota of that are in force. */
  boosted = false;
  /** It was boosted already: a container starts only once. */
  wasBoosted = false;
  /** Which of the registry's slices it belongs to. */
  slice = 0;
  /** Counters at the end of the last sample, for differences. */
  periods = 0;
  throttledPeriods = 0;
  waiting = -1;
  ended = false;
  readonly sample: UsageSample = emptySample();
  /** When its memory was last read although nothing ran in it. */
  idleReadAt = Number.NEGATIVE_INFINITY;
  /** The CPU counter as it was last read at an activation's end, us, and when. */
  cpuCounter = -1;
  cpuCounterAt = Number.NEGATIVE_INFINITY;
  /** The counter up to which the container's CPU is in the host's sum, us; -1: not read yet. */
  cpuSummed = -1;

  constructor(info: ContainerInfo, state: ContainerState, handle: LimitHandle, probe: UsageProbe) {
    this.info = info;
    this.role = roleOf(info.name);
    this.state = state;
    this.address = info.address === null ? Number.NaN : addressOf(info.address);
    this.handle = handle;
    this.memoryCeiling = () => handle.memoryCeiling?.() ?? (Number.POSITIVE_INFINITY as Bytes);
    this.probe = probe;
    this.paused = info.paused;
  }

  get phase(): Phase {
    if (this.paused) return 'paused';
    if (this.running > 0) return 'running';
    return this.boosted ? 'starting' : 'idle';
  }

  setPaused(paused: boolean, now: Millis): void {
    if (paused) this.pausedAt = now;
    else this.pausedMillis = this.pausedUntil(now);
    this.paused = paused;
  }

  /** Total paused time at a moment, so that a span can leave it out. */
  pausedUntil(now: Millis): Millis {
    return (this.pausedMillis + (this.paused ? now - this.pausedAt : 0)) as Millis;
  }
}

/**
 * Containers are looked at in turns, every few ms some of them, so that many never make one long
 * pause.
 */
export const SLICES = 10;

/**
 * The CPU counter at an activation's start: of a container that was idle since a moment ago, the
 * last one still holds.
 */
export function cpuAtStart(container: Container, now: Millis): number {
  const idle = container.running <= 1 && container.cpuCounter >= 0;
  return idle && now - container.cpuCounterAt < SETTLED_MILLIS
    ? container.cpuCounter
    : container.probe.cpu();
}

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
    if (container.paused) container.pausedAt = this.#platform.clock.monotonic();
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

/**
 * Whether other limits than the user's may be in force in it: its function's mode allows them, and
 * the tap sees its activations.
 */
export function mayLimit({ revision, tapped }: Container): boolean {
  return tapped && revision?.fn.enforced === true;
}
