import { isDeepStrictEqual } from 'node:util';
import {
  type Cancel,
  GleanerError,
  type Micros,
  type Millis,
  millis,
  SeededRandom,
  systemClock,
  systemTimers,
} from '../../../config/index.js';
import type {
  Bridge,
  ContainerEngine,
  ContainerEngineListener,
  ContainerInfo,
  HostFacts,
  Listing,
  SkippedEvent,
} from '../ports/index.js';
import { engineError } from './engine-errors.js';
import type { EngineEvents, EngineSource } from './engine-source.js';

/** Inspections of one pass at a time: one slot stays free for a container that starts meanwhile. */
const PARALLEL = 3;
/** From a skipped event to its listing: many such events must not cause as many listings. */
const RECOVERY = millis(1000);

/** What is known of one managed container, from its start to its end. */
class Known {
  info: ContainerInfo | null = null;
  paused = false;
  /** Number of the pass before which it was announced: an earlier listing does not have it. */
  seenIn: number;
  /** Position, among all starts, of its start event or of the listing that found it. */
  readonly order: number;
  /** Its inspect answer was unreadable: no retry before the next full pass. */
  isUnreadable = false;
  /** Settled when the container's inspect answer has been dealt with. */
  learned: Promise<void> = Promise.resolve();

  constructor(seenIn: number, order: number) {
    this.seenIn = seenIn;
    this.order = order;
  }
}

/** The managed containers of an engine: subscribes to events, lists, and reconciles by id. */
export class ReconcilingEngine implements ContainerEngine {
  readonly #source: EngineSource;
  readonly #every: Millis;
  readonly #known = new Map<string, Known>();
  /** By address: the container that started last. */
  readonly #owners = new Map<string, Known>();
  #bridgesText = '';
  #listener: ContainerEngineListener | null = null;
  #events: EngineEvents | null = null;
  #cancelPeriod: Cancel | null = null;
  #passRunning: Promise<void> | null = null;
  #passWanted: 'no' | 'listing' | 'full' = 'no';
  #passNumber = 0;
  #order = 0;
  #cancelRecovery: Cancel | null = null;
  /** Containers to inspect again, one after the other: many updates must not flood the engine. */
  readonly #updated = new Set<string>();
  #isFollowingUpdates = false;
  #onFirstPass: (() => void) | null = null;

  /** @param reconcileEvery between two complete listings; events come in between */
  constructor(source: EngineSource, reconcileEvery: Millis = millis(30_000)) {
    this.#source = source;
    this.#every = reconcileEvery;
    source.onBridges = (bridges) => this.#bridgesRead(bridges);
    source.onUnreadable = (id, error) => this.#listener?.containerUnreadable?.(id, error);
  }

  /** Answers about a container or network that could not be read, so far. */
  get unreadable(): number {
    return this.#source.unreadable;
  }

  start(listener: ContainerEngineListener): Promise<void> {
    this.#listener = listener;
    const first = new Promise<void>((resolve) => {
      this.#onFirstPass = resolve;
    });
    const random = new SeededRandom(process.pid);
    this.#events = this.#source.events(
      { clock: systemClock, timers: systemTimers, random },
      {
        subscribed: () => this.#pass('full'),
        changed: () => this.#pass('listing'),
        started: (id) => this.#onStart(id),
        ended: (id, at) => this.#onEnd(id, at),
        paused: (id, paused) => this.#onPause(id, paused),
        updated: (id) => void this.#onUpdate(id),
        oom: (id) => {
          if (this.#known.get(id)?.info) this.#listener?.containerOom(id);
        },
        skipped: (kind) => this.#skipped(kind),
        lost: (error) => this.#listener?.engineDown(error),
      },
    );
    this.#events.start();
    this.#cancelPeriod = systemTimers.every(this.#every, () => this.#pass('listing'));
    return first;
  }

  async stop(): Promise<void> {
    this.#listener = null;
    this.#cancelPeriod?.();
    this.#cancelRecovery?.();
    this.#events?.stop();
    this.#source.close();
    await this.#passRunning;
  }

  facts(): Promise<HostFacts> {
    return this.#source.facts();
  }

  /** Every managed container that runs now and can be read, without a subscription. */
  async snapshot(): Promise<ContainerInfo[]> {
    return [...(await this.list(new Set())).containers];
  }

  /** As {@link snapshot}, and the containers of these ids, and which cannot be read. */
  async list(also: ReadonlySet<string>): Promise<Listing> {
    await this.#source.readBridges();
    const listed = await this.#source.list();
    const ids = new Set<string>();
    for (const { id, isManaged } of listed.items)
      if (isManaged !== false || also.has(id)) ids.add(id);
    if (!listed.isComplete) for (const id of also) ids.add(id);
    const containers: ContainerInfo[] = [];
    const unreadable: string[] = [];
    await inTurns([...ids], async (id) => {
      const info = await this.#source.inspect(id);
      if (info === 'unreadable') unreadable.push(id);
      // The list may have shown no name.
      else if (info !== null && (also.has(id) || this.#source.isManaged(info)))
        containers.push(info);
    });
    return { containers, unreadable, unlisted: listed.unreadable };
  }

  /** One container, managed or not, as the engine shows it now. Null: it does not run. */
  inspect(id: string): Promise<ContainerInfo | 'unreadable' | null> {
    return this.#source.inspect(id);
  }

  close(): void {
    this.#source.close();
  }

  #pass(kind: 'listing' | 'full'): void {
    if (this.#listener === null) return;
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
          // The stream of an engine that does not list cannot be trusted either.
          this.#events?.reconnect(error instanceof GleanerError ? error : engineError(error));
        },
      )
      .finally(() => {
        this.#passRunning = null;
        const next = this.#passWanted;
        this.#passWanted = 'no';
        if (next !== 'no') this.#pass(next);
      });
  }

  /** @param full after a gap: a known container may have ended and come back under its id */
  async #reconcile(full: boolean): Promise<void> {
    const pass = ++this.#passNumber;
    await this.#source.readBridges();
    const order = ++this.#order;
    const listed = await this.#source.list();
    const running = new Set<string>();
    const inspections: (() => Promise<void>)[] = [];
    for (const container of listed.items) {
      // Names that cannot be read are no reason to give up a container that is known.
      const { id, isPaused } = container;
      if (!container.isManaged && !this.#known.has(id)) continue;
      running.add(id);
      const known = this.#known.get(id);
      if (!known || (known.isUnreadable && full))
        inspections.push(() => this.#learn(id, order, true));
      // Its start was announced, perhaps again, while this pass began: inspect it first.
      else if (!known.info) inspections.push(() => known.learned);
      else if (full) inspections.push(() => this.#again(id, known));
      else if (isPaused !== null) this.#setPaused(id, known, isPaused);
    }
    // A listing with unreadable entries does not show which containers have ended.
    if (listed.unreadable === 0) {
      for (const [id, known] of this.#known)
        if (!running.has(id) && known.seenIn < pass) this.#ended(id, true);
    }
    await inTurns(inspections, (inspect) => inspect());
  }

  #bridgesRead(bridges: readonly Bridge[]): void {
    const text = JSON.stringify(bridges);
    if (text === this.#bridgesText || !this.#listener) return;
    this.#bridgesText = text;
    this.#listener.bridgesChanged(bridges);
  }

  #learn(id: string, order: number, isFound: boolean): Promise<void> {
    const known = new Known(this.#passNumber, order);
    this.#known.set(id, known);
    known.learned = this.#inspectNew(id, known, isFound);
    return known.learned;
  }

  async #inspectNew(id: string, known: Known, isFound: boolean): Promise<void> {
    let info: ContainerInfo | 'unreadable' | null;
    try {
      info = await this.#source.inspect(id);
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
   * Whether a container that started later has its address: then it has ended. The engine reuses an
   * address before it reports the end, and two inspections may be answered in either order.
   */
  #hasSuccessor(info: ContainerInfo, known: Known): boolean {
    const owner = info.address === null ? undefined : this.#owners.get(info.address);
    return owner !== undefined && owner.order > known.order;
  }

  async #again(id: string, known: Known): Promise<void> {
    const order = ++this.#order;
    const info = await this.#source.inspect(id);
    if (this.#known.get(id) !== known || !known.info) return;
    // It runs, by the listing, and it was understood before.
    if (info === 'unreadable') return;
    // Equal stamps name one start; which of two is larger would say nothing once the clock was set.
    if (info !== null && isSameStart(info, known.info)) {
      if (!hasSameLimits(info, known.info)) {
        known.info = info;
        known.paused = info.paused;
        this.#listener?.containerUpdated?.(info);
      } else this.#setPaused(id, known, info.paused);
      return;
    }
    this.#ended(id, info === null);
    if (info === null) return;
    this.#announce(id, new Known(this.#passNumber, order), info, true);
  }

  #onStart(id: string): void {
    if (this.#known.has(id)) return;
    // A failure here is an engine that does not answer: the next pass learns the container.
    this.#learn(id, ++this.#order, false).catch(() => this.#pass('listing'));
  }

  #onEnd(id: string, at: Micros | null): void {
    const known = this.#known.get(id);
    if (known === undefined) return;
    // Its end, stamped before its start: the clock was set back, or it is an earlier end of a
    // container that runs again. The engine knows.
    if (known.info && at !== null && at < known.info.startedAt)
      this.#again(id, known).catch(() => this.#pass('listing'));
    else this.#ended(id);
  }

  async #onUpdate(id: string): Promise<void> {
    if (!this.#known.has(id)) return;
    this.#updated.add(id);
    if (this.#isFollowingUpdates) return;
    this.#isFollowingUpdates = true;
    for (const next of this.#updated) {
      this.#updated.delete(next);
      const known = this.#known.get(next);
      // A failure here is an engine that does not answer: a full pass compares limits too.
      await known?.learned.then(() => this.#again(next, known)).catch(() => this.#pass('full'));
    }
    this.#isFollowingUpdates = false;
  }

  #onPause(id: string, paused: boolean): void {
    const known = this.#known.get(id);
    if (known?.info) this.#setPaused(id, known, paused);
  }

  #skipped(kind: SkippedEvent): void {
    this.#listener?.eventSkipped?.(kind);
    if (kind === 'unknown') return;
    this.#cancelRecovery ??= systemTimers.after(RECOVERY, () => {
      this.#cancelRecovery = null;
      this.#pass('listing');
    });
  }

  #ended(id: string, isMissing = false): void {
    const known = this.#known.get(id);
    if (known === undefined) return;
    this.#known.delete(id);
    if (!known.info) return;
    const { address } = known.info;
    if (address !== null && this.#owners.get(address) === known) this.#owners.delete(address);
    this.#listener?.containerEnded(id, isMissing);
  }

  #setPaused(id: string, known: Known, paused: boolean): void {
    if (known.paused === paused) return;
    known.paused = paused;
    this.#listener?.containerPaused(id, paused);
  }
}

const isSameStart = (a: ContainerInfo, b: ContainerInfo): boolean =>
  a.startedAt === b.startedAt && a.pid === b.pid;

const hasSameLimits = (a: ContainerInfo, b: ContainerInfo): boolean =>
  isDeepStrictEqual([a.user, a.pod], [b.user, b.pod]);

/** A few at a time, so that no call waits for a slot until its deadline. */
async function inTurns<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = items.values();
  await Promise.all(
    Array.from({ length: PARALLEL }, async () => {
      for (const item of left) await work(item);
    }),
  );
}
