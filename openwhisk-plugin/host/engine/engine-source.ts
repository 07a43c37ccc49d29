import type { Clock, GleanerError, Micros, Random, Timers } from '../../../config/index.js';
import type { Bridge, ContainerInfo, HostFacts, SkippedEvent } from '../ports/index.js';

/** One entry of the listing of running containers. */
interface ListedContainer {
  readonly id: string;
  /** Null: the listing does not show it. */
  readonly isManaged: boolean | null;
  /** Null: the listing does not show it. */
  readonly isPaused: boolean | null;
}

/** Running containers. */
export interface ContainerList {
  readonly items: readonly ListedContainer[];
  /** Number of entries that cannot be read. */
  readonly unreadable: number;
  /** False: only containers with names of managed ones are listed. */
  readonly isComplete: boolean;
}

/** What one kind of engine can be asked, by reading only. `ReconcilingEngine` does the rest. */
export interface EngineSource {
  /** Called after each reading of the bridges. */
  onBridges: (bridges: readonly Bridge[]) => void;
  /** Called when `inspect` cannot read the engine's answer about a container. */
  onUnreadable: (id: string, error: GleanerError) => void;
  /** Answers about a container or network that could not be read, so far. */
  readonly unreadable: number;
  facts(): Promise<HostFacts>;
  readBridges(): Promise<void>;
  list(): Promise<ContainerList>;
  isManaged(container: ContainerInfo): boolean;
  /** Null: it does not run. Whether it is managed may be left to `isManaged`. */
  inspect(id: string): Promise<ContainerInfo | 'unreadable' | null>;
  /** The event stream; it begins with `start`. */
  events(time: EngineTime, listener: EngineEventsListener): EngineEvents;
  close(): void;
}

export interface EngineTime {
  readonly clock: Clock;
  readonly timers: Timers;
  /** Spreads the reconnects of many hosts. */
  readonly random: Random;
}

export interface EngineEventsListener {
  /** The engine has accepted the subscription: all later events arrive. */
  subscribed(): void;
  /** Something that only a listing shows may have changed. */
  changed(): void;
  /** Only of containers that may be managed. */
  started(id: string): void;
  /** `at`: the engine's stamp; null where it has none. */
  ended(id: string, at: Micros | null): void;
  paused(id: string, paused: boolean): void;
  /** Its limits may have been changed through the engine. */
  updated(id: string): void;
  oom(id: string): void;
  /** An event was left out. A listing finds what it meant. */
  skipped(kind: SkippedEvent): void;
  lost(error: GleanerError): void;
}

export interface EngineEvents {
  start(): void;
  stop(): void;
  /** Drops the connection, which is opened again: the engine was found dead in another way. */
  reconnect(error: GleanerError): void;
}
