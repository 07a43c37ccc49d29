import type { z } from 'zod';
import {
  bytes,
  type Cancel,
  type Clock,
  GleanerError,
  type Micros,
  type Millis,
  messageOf,
  millicores,
  millis,
  type Random,
  SeededRandom,
  systemClock,
  systemTimers,
  type Timers,
} from '../../../config/index.js';
import type {
  Bridge,
  ContainerEngine,
  ContainerEngineListener,
  ContainerInfo,
  HostFacts,
  SkippedEvent,
} from '../ports/index.js';
import { bridgesOf, containerInfo } from './container-info.js';
import type { ManagedFilter } from './container-names.js';
import { DockerClient } from './docker-client.js';
import { DockerEvents } from './docker-events.js';
import {
  anyList,
  type EngineEvent,
  infoSchema,
  inspectSchema,
  listedSchema,
  networkSchema,
  readable,
  versionSchema,
} from './docker-schemas.js';
import {
  EngineResponseError,
  EngineStatusError,
  EngineUnavailableError,
  EngineUnsupportedError,
} from './engine-errors.js';

/**
 * Inspections of one pass at a time: one slot of the client stays free for a container that starts
 * meanwhile.
 */
const PARALLEL = 3;
/**
 * After a skipped event, until the listing that finds what it meant: a stream of such events must
 * not make a stream of listings.
 */
const RECOVERY = millis(1000);

export interface DockerEngineOptions {
  readonly socketPath?: string;
  readonly managed: ManagedFilter;
  readonly clock?: Clock;
  readonly timers?: Timers;
  readonly random?: Random;
  /** Between two complete listings; events come in between. */
  readonly reconcileEvery?: Millis;
  /** Of one call to the engine. */
  readonly deadline?: Millis;
}

/**
 * What is known of one managed container. An inspect that was overtaken by a later `die` is thrown
 * away by its `epoch`.
 */
interface Known {
  info: ContainerInfo | null;
  paused: boolean;
  /**
   * Number of the pass before which it was announced: an earlier listing does not have it.
   */
  seenIn: number;
  /**
   * Its position among all starts: of its start event, or of the request of the listing that found
   * it.
   */
  readonly order: number;
  /** Its inspect answer was unreadable: no retry before the next full pass. */
  isUnreadable: boolean;
  /** Settled when the container's inspect answer has been dealt with. */
  learned: Promise<void>;
}

function newlyKnown(seenIn: number, order: number): Known {
  return {
    info: null,
    paused: false,
    seenIn,
    order,
    isUnreadable: false,
    learned: Promise.resolve(),
  };
}

/**
 * Docker, by `GET` and events only: subscribe first, list, reconcile by id, and again every 10 s
 * and after each reconnect.
 */
export class DockerEngine implements ContainerEngine {
  readonly #client: DockerClient;
  readonly #managed: ManagedFilter;
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #random: Random;
  readonly #every: Millis;
  readonly #known = new Map<string, Known>();
  /** Of each address the container that started last. */
  readonly #owners = new Map<string, Known>();
  #bridges: Map<string, Bridge> = new Map();
  #bridgesText = '';
  #listener: ContainerEngineListener | null = null;
  #events: DockerEvents | null = null;
  #cancelPeriod: Cancel | null = null;
  #passRunning: Promise<void> | null = null;
  #passWanted: 'no' | 'listing' | 'full' = 'no';
  #passNumber = 0;
  #order = 0;
  #listPath = '/containers/json';
  #cancelRecovery: Cancel | null = null;
  #onFirstPass: (() => void) | null = null;
  /**
   * Answers about one container or network that could not be understood, so far: it is not managed.
   */
  unreadable = 0;

  constructor(options: DockerEngineOptions) {
    this.#clock = options.clock ?? systemClock;
    this.#timers = options.timers ?? systemTimers;
    this.#random = options.random ?? new SeededRandom(process.pid);
    this.#managed = options.managed;
    this.#every = options.reconcileEvery ?? millis(30_000);
    this.#client = new DockerClient({
      socketPath: options.socketPath ?? '/var/run/docker.sock',
      clock: this.#clock,
      timers: this.#timers,
      ...(options.deadline === undefined ? {} : { deadline: options.deadline }),
    });
  }

  start(listener: ContainerEngineListener): Promise<void> {
    this.#listener = listener;
    const first = new Promise<void>((resolve) => {
      this.#onFirstPass = resolve;
    });
    this.#events = new DockerEvents(this.#client, this.#clock, this.#timers, this.#random, {
      subscribed: () => this.#pass('full'),
      event: (event, at) => this.#event(event, at),
      skipped: (kind) => this.#skipped(kind),
      lost: (error) => this.#listener?.engineDown(error),
    });
    this.#events.start();
    this.#cancelPeriod = this.#timers.every(this.#every, () => this.#pass('listing'));
    return first;
  }

  async stop(): Promise<void> {
    this.#listener = null;
    this.#cancelPeriod?.();
    this.#cancelRecovery?.();
    this.#events?.stop();
    this.#client.close();
    await this.#passRunning;
  }

  /** Throws EngineUnavailableError, EngineUnsupportedError (no cgroups to manage). */
  async facts(): Promise<HostFacts> {
    const info = await this.#client.get('/info', infoSchema);
    const driver = info.CgroupDriver;
    if (driver !== 'cgroupfs' && driver !== 'systemd') {
      throw new EngineUnsupportedError(
        `the engine's cgroup driver is '${driver}': its containers have no limits of their own`,
      );
    }
    const runtime = await this.#runtime(info.DefaultRuntime);
    return {
      cpu: millicores(info.NCPU * 1000),
      memory: bytes(info.MemTotal),
      cgroupVersion: info.CgroupVersion === '2' ? 2 : 1,
      cgroupDriver: driver,
      engineVersion: info.ServerVersion,
      apiVersion: await this.#client.apiVersion(),
      ...(runtime === null ? {} : { runtime }),
    };
  }

  /** Decides how weights were computed from shares; optional. */
  async #runtime(name: string): Promise<string | null> {
    try {
      const { Components } = await this.#client.get('/version', versionSchema);
      const found = Components?.find((component) => component.Name === name);
      return found === undefined ? null : `${found.Name} ${found.Version}`;
    } catch {
      return null;
    }
  }

  /**
   * Every managed container that runs now, once, without a subscription: what {@link restoreAll}
   * compares with.
   */
  async snapshot(): Promise<ContainerInfo[]> {
    await this.#readBridges();
    const listed = await this.#list();
    const managed = listed.items.filter((container) => this.#isManaged(container.Names));
    const infos: ContainerInfo[] = [];
    await inTurns(managed, async (container) => {
      const info = await this.#inspect(container.Id);
      if (info !== null && info !== 'unreadable') infos.push(info);
    });
    return infos;
  }

  close(): void {
    this.#client.close();
  }

  #pass(kind: 'listing' | 'full'): void {
    if (this.#passRunning) {
      if (this.#passWanted !== 'full') this.#passWanted = kind;
      return;
    }
    this.#passRunning = this.#reconcile(kind === 'full')
      .then(
        () => {
          this.#onFirstPass?.();
          this.#onFirstPass = null;
          this.#listener?.reconciled();
        },
        (error: unknown) => {
          // Reconnecting is what asks again: the stream of an engine that does not list is not to
          // be trusted either.
          const known =
            error instanceof GleanerError
              ? error
              : new EngineUnavailableError(messageOf(error), error);
          this.#events?.reconnect(known);
        },
      )
      .finally(() => {
        this.#passRunning = null;
        const next = this.#passWanted;
        this.#passWanted = 'no';
        if (next !== 'no' && this.#listener) this.#pass(next);
      });
  }

  /**
   * @param full after a gap: also what is known is inspected, since a container may have died and
   * come back under its id.
   */
  async #reconcile(full: boolean): Promise<void> {
    const pass = ++this.#passNumber;
    await this.#readBridges();
    const order = ++this.#order;
    const listed = await this.#list();
    const running = new Set<string>();
    const inspections: (() => Promise<void>)[] = [];
    for (const container of listed.items) {
      // Names that cannot be read are no reason to give up a container that is known.
      if (!this.#isManaged(container.Names) && !this.#known.has(container.Id)) continue;
      running.add(container.Id);
      const known = this.#known.get(container.Id);
      if (!known || (known.isUnreadable && full))
        inspections.push(() => this.#learn(container.Id, order, true));
      // Its start was announced, perhaps again, while this pass began: inspect it first.
      else if (!known.info) inspections.push(() => known.learned);
      else if (full) inspections.push(() => this.#again(container.Id, known));
      else this.#setPaused(container.Id, known, container.State === 'paused');
    }
    // A listing with unreadable entries does not show which containers have ended.
    if (listed.unreadable === 0) {
      for (const [id, known] of this.#known)
        if (!running.has(id) && known.seenIn < pass) this.#ended(id);
    }
    await inTurns(inspections, (inspect) => inspect());
  }

  /**
   * Running containers. The answer has all labels of all containers. If it is too long, only
   * containers with a managed name are requested, so that other containers' labels do no harm.
   */
  async #list(): Promise<ReturnType<typeof readable<z.infer<typeof listedSchema>>>> {
    let entries: unknown[];
    try {
      entries = await this.#client.get(this.#listPath, anyList);
    } catch (error) {
      const { prefix } = this.#managed;
      if (
        !(error instanceof EngineResponseError) ||
        prefix === undefined ||
        this.#listPath.includes('?')
      )
        throw error;
      this.#listPath += `?filters=${encodeURIComponent(JSON.stringify({ name: [prefix] }))}`;
      entries = await this.#client.get(this.#listPath, anyList);
    }
    const listed = readable(entries, listedSchema);
    this.unreadable += listed.unreadable;
    return listed;
  }

  async #readBridges(): Promise<void> {
    const networks = readable(await this.#client.get('/networks', anyList), networkSchema);
    this.unreadable += networks.unreadable;
    this.#bridges = bridgesOf(networks.items);
    const list = [...this.#bridges.values()].sort((a, b) =>
      a.interfaceName.localeCompare(b.interfaceName),
    );
    const text = JSON.stringify(list);
    if (text === this.#bridgesText || !this.#listener) return;
    this.#bridgesText = text;
    this.#listener.bridgesChanged(list);
  }

  #learn(id: string, order: number, isFound: boolean): Promise<void> {
    const known = newlyKnown(this.#passNumber, order);
    this.#known.set(id, known);
    known.learned = this.#inspectNew(id, known, isFound);
    return known.learned;
  }

  async #inspectNew(id: string, known: Known, isFound: boolean): Promise<void> {
    let info: ContainerInfo | 'unreadable' | null;
    try {
      info = await this.#inspect(id);
    } catch (error) {
      if (this.#known.get(id) === known) this.#known.delete(id);
      throw error;
    }
    // It may have ended, even started again, while the engine answered.
    if (this.#known.get(id) !== known) return;
    if (info === 'unreadable') {
      known.isUnreadable = true;
      known.seenIn = this.#passNumber;
    } else if (info === null || this.#hasSuccessor(info, known)) this.#known.delete(id);
    else this.#announce(id, known, info, isFound);
  }

  #announce(id: string, known: Known, info: ContainerInfo, isFound: boolean): void {
    this.#known.set(id, known);
    known.info = info;
    known.paused = info.paused;
    known.seenIn = this.#passNumber;
    if (info.address !== null) this.#owners.set(info.address, known);
    this.#listener?.containerStarted(info, isFound);
  }

  /**
   * Whether a container that started later has its address already: then it has ended, and only its
   * `die` is still to come. The engine gives an address away before it reports the end, and two
   * inspections may be answered in either order.
   */
  #hasSuccessor(info: ContainerInfo, known: Known): boolean {
    const owner = info.address === null ? undefined : this.#owners.get(info.address);
    return owner !== undefined && owner.order > known.order;
  }

  async #again(id: string, known: Known): Promise<void> {
    const order = ++this.#order;
    const info = await this.#inspect(id);
    if (this.#known.get(id) !== known || !known.info) return;
    // It runs, by the listing, and it was understood before.
    if (info === 'unreadable') return;
    // Equal stamps name one start; which of two is larger would say nothing once the clock was set.
    if (info !== null && info.startedAt === known.info.startedAt && info.pid === known.info.pid) {
      this.#setPaused(id, known, info.paused);
      return;
    }
    this.#ended(id);
    if (info === null) return;
    this.#announce(id, newlyKnown(this.#passNumber, order), info, true);
  }

  /** Null where it does not run (any more). */
  async #inspect(id: string): Promise<ContainerInfo | 'unreadable' | null> {
    try {
      const answer = await this.#client.get(
        `/containers/${encodeURIComponent(id)}/json`,
        inspectSchema,
      );
      if (!answer.State.Running || answer.State.Pid <= 0) return null;
      for (const endpoint of Object.values(answer.NetworkSettings?.Networks ?? {})) {
        if (endpoint && endpoint.NetworkID !== '' && !this.#bridges.has(endpoint.NetworkID)) {
          await this.#readBridges();
          break;
        }
      }
      return containerInfo(answer, this.#bridges);
    } catch (error) {
      if (error instanceof EngineStatusError && (error.status === 404 || error.status === 409))
        return null;
      if (error instanceof EngineResponseError) {
        // One container that cannot be read must not keep the others from being managed.
        this.unreadable++;
        return 'unreadable';
      }
      throw error;
    }
  }

  #event(event: EngineEvent, at: Micros): void {
    if (event.Type === 'network') {
      if (event.Action === 'create' || event.Action === 'destroy') this.#pass('listing');
      return;
    }
    if (event.Type !== 'container') return;
    const id = event.Actor.ID;
    const known = this.#known.get(id);
    switch (event.Action) {
      case 'start':
        // A failure here is an engine that does not answer: the next pass learns the container.
        if (!known && this.#managed(event.Actor.Attributes?.name ?? ''))
          this.#learn(id, ++this.#order, false).catch(() => this.#pass('listing'));
        break;
      case 'die':
      case 'destroy':
        if (known === undefined) break;
        // Its end, stamped before its start: the clock was set back, or it is an earlier end of a
        // container that runs again. The engine knows.
        if (known.info && at < known.info.startedAt)
          this.#again(id, known).catch(() => this.#pass('listing'));
        else this.#ended(id);
        break;
      case 'pause':
      case 'unpause':
        if (known?.info) this.#setPaused(id, known, event.Action === 'pause');
        break;
      case 'oom':
        if (known?.info) this.#listener?.containerOom(id);
        break;
    }
  }

  #skipped(kind: SkippedEvent): void {
    this.#listener?.eventSkipped?.(kind);
    if (kind === 'unknown') return;
    this.#cancelRecovery ??= this.#timers.after(RECOVERY, () => {
      this.#cancelRecovery = null;
      if (this.#listener) this.#pass('listing');
    });
  }

  #ended(id: string): void {
    const known = this.#known.get(id);
    if (known === undefined) return;
    this.#known.delete(id);
    if (!known.info) return;
    const { address } = known.info;
    if (address !== null && this.#owners.get(address) === known) this.#owners.delete(address);
    this.#listener?.containerEnded(id);
  }

  #setPaused(id: string, known: Known, paused: boolean): void {
    if (known.paused === paused) return;
    known.paused = paused;
    this.#listener?.containerPaused(id, paused);
  }

  #isManaged(names: readonly string[] | null | undefined): boolean {
    return (names ?? []).some((name) => this.#managed(name.replace(/^\//, '')));
  }
}

/**
 * A few at a time: each call's deadline begins when it is made, so that thousands of containers
 * never wait each other out.
 */
async function inTurns<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = items.values();
  await Promise.all(
    Array.from({ length: PARALLEL }, async () => {
      for (const item of left) await work(item);
    }),
  );
}
