import { type Cancel, type Millis, millis, type Timers } from '../../config/index.js';
import { type Announcement, encodeMessage, TEXT_MAX } from '../messages/index.js';
import type { Broker } from '../port.js';
import { subjects } from '../subjects.js';

const INTERVAL = millis(10_000);
/** An instance is forgotten after this long without an announcement: one may be lost. */
const SILENCE = 1.5 * INTERVAL;
/** As many as there may be of one message's hosts, of each of two services, and some more. */
const INSTANCES_MAX = 10_000;
/** Most failed instances that are remembered. */
const FAILED_MAX = 100;
/** How long an end after a fault is known, unless its service is announced on its host again. */
const FAILED_KEPT = millis(3_600_000);

/** By service the host of each instance, by its id. */
export type Instances = Record<string, Record<string, string>>;

/** An instance that ended after a fault. */
export interface FailedInstance {
  readonly service: string;
  readonly host: string;
  readonly failure: string;
  /** Since its end. */
  readonly age: Millis;
}

/**
 * Announces a running instance to all aggregators until it is canceled. `failure`: asked then for
 * the fault that ends it; null: it ends in order.
 */
export function announce(
  broker: Broker,
  timers: Timers,
  instance: Pick<Announcement, 'service' | 'host' | 'id'>,
  failure: () => string | null = () => null,
): Cancel {
  const send = (more: Partial<Announcement> = {}): void =>
    void broker.publish(
      subjects.announcement(instance.host),
      encodeMessage({ v: 1, ...instance, ...more }),
    );
  const cancels = [
    broker.onStatus(({ kind }) => kind === 'connected' && send()),
    timers.every(INTERVAL, send),
  ];
  return () => {
    for (const cancel of cancels.splice(0)) cancel();
    const why = failure();
    send({ stopping: true, ...(why === null ? {} : { failure: why.slice(0, TEXT_MAX) }) });
  };
}

/** The running instances of all services, as far as they are announced. */
export class InstanceDirectory {
  readonly #instances = new Map<string, Announcement & { readonly at: Millis }>();
  /** The instance of each service and host that was seen last for the first time. */
  readonly #newest = new Map<string, string>();
  readonly #sharedNames = new Set<string>();
  /** By service and host, the newest last. */
  readonly #failed = new Map<string, Omit<FailedInstance, 'age'> & { readonly at: Millis }>();
  readonly #onSharedName: (instance: Announcement) => void;
  /** NaN before the first connection. */
  #incompleteAt = Number.NaN;

  /** `onSharedName`: once for each service and host of which two instances run. */
  constructor(onSharedName: (instance: Announcement) => void = () => undefined) {
    this.#onSharedName = onSharedName;
  }

  take(announcement: Announcement, now: Millis): void {
    const { id, stopping } = announcement;
    this.#compareNames(announcement);
    this.#noteFailure(announcement, now);
    if (stopping) this.#instances.delete(id);
    else if (this.#instances.size < INSTANCES_MAX || this.#instances.has(id))
      this.#instances.set(id, { ...announcement, at: now });
    else this.mayMiss(now);
  }

  /** One that crashed and was started again never announces itself after its successor. */
  #compareNames(announcement: Announcement): void {
    const { service, host, id, stopping } = announcement;
    if (stopping) return;
    const name = `${service} ${host}`;
    if (!this.#instances.has(id)) {
      if (this.#newest.size < INSTANCES_MAX || this.#newest.has(name)) this.#newest.set(name, id);
      return;
    }
    const newest = this.#newest.get(name) ?? id;
    if (newest === id || this.#sharedNames.has(name)) return;
    this.#sharedNames.add(name);
    this.#onSharedName(announcement);
  }

  #noteFailure({ service, host, stopping, failure }: Announcement, now: Millis): void {
    const name = `${service} ${host}`;
    this.#failed.delete(name);
    if (!stopping || failure === undefined) return;
    this.#failed.set(name, { service, host, failure, at: now });
    const [oldest] = this.#failed.keys();
    if (this.#failed.size > FAILED_MAX && oldest !== undefined) this.#failed.delete(oldest);
  }

  /** Instances that ended after a fault in the last hour, and none is announced in their place. */
  failed(now: Millis): FailedInstance[] {
    return [...this.#failed.values()]
      .map(({ at, ...each }) => ({ ...each, age: (now - at) as Millis }))
      .filter(({ age }) => age <= FAILED_KEPT);
  }

  /** Announcements were lost or refused. */
  mayMiss(now: Millis): void {
    this.#incompleteAt = now;
  }

  /**
   * Null if an instance may be missing: each is announced again within an interval. `present`: the
   * hosts by service that are known to run; those of an older version announce nothing. An older
   * aggregator is not known.
   */
  all(now: Millis, present: Readonly<Record<string, readonly string[]>> = {}): Instances | null {
    for (const [id, { at }] of this.#instances) {
      if (now - at <= SILENCE) continue;
      // On a slow machine its announcement may be late, and it still answers.
      this.#instances.delete(id);
      const due = (at + SILENCE) as Millis;
      if (!(this.#incompleteAt >= due)) this.mayMiss(due);
    }
    if (!(now - this.#incompleteAt > SILENCE)) return null;
    const all: Instances = {};
    for (const { service, host, id } of this.#instances.values()) {
      all[service] ??= {};
      all[service][id] = host;
    }
    const isAnnounced = ([service, hosts]: [string, readonly string[]]): boolean => {
      const announced = new Set(Object.values(all[service] ?? {}));
      return hosts.every((host) => announced.has(host));
    };
    return Object.entries(present).every(isAnnounced) ? all : null;
  }
}
