import type { Millis } from '../config/index.js';
import type { Decode, RefusalKind } from './messages/index.js';

export type OrderRefusal =
  | 'repeated'
  | 'out_of_order'
  /** From before the sender's last restart. */
  | 'old_boot';

export type InboxRefusal = RefusalKind | OrderRefusal;

export interface Stamp {
  /** Messages are ordered per sender: a host, or a function on a host. */
  readonly sender: string;
  readonly boot: string;
  readonly sequence: number;
}

interface SenderState {
  boot: string;
  sequence: number;
  /** Boots that came before, newest last. */
  readonly retired: string[];
}

const RETIRED_MAX = 8;

/** Passes each sender's messages once and in order. Against replay permissions protect. */
export class SequenceGuard {
  readonly #senders = new Map<string, SenderState>();
  readonly #limit: number;

  constructor(limit = 10_000) {
    this.#limit = limit;
  }

  /** Null if the message may be taken. */
  check(stamp: Stamp): OrderRefusal | null {
    const known = this.#senders.get(stamp.sender);
    if (known) {
      if (known.boot === stamp.boot) {
        if (stamp.sequence === known.sequence) return 'repeated';
        if (stamp.sequence < known.sequence) return 'out_of_order';
      } else {
        if (known.retired.includes(stamp.boot)) return 'old_boot';
        known.retired.push(known.boot);
        if (known.retired.length > RETIRED_MAX) known.retired.shift();
        known.boot = stamp.boot;
      }
      known.sequence = stamp.sequence;
      // Inserted again, so that the map is ordered by the last message.
      this.#senders.delete(stamp.sender);
      this.#senders.set(stamp.sender, known);
      return null;
    }
    if (this.#senders.size >= this.#limit) {
      const oldest = this.#senders.keys().next().value;
      if (oldest !== undefined) this.#senders.delete(oldest);
    }
    this.#senders.set(stamp.sender, { boot: stamp.boot, sequence: stamp.sequence, retired: [] });
    return null;
  }

  forget(sender: string): void {
    this.#senders.delete(sender);
  }
}

export type InboxCounts = Record<InboxRefusal | 'taken', number>;

export interface InboxOptions<T> {
  readonly decode: Decode<T>;
  /** Null: messages of this kind have no order. */
  readonly stamp: ((message: T) => Stamp) | null;
  /** For the log: called at the first refusal of a kind, then at most once a minute. */
  readonly refused?: (kind: InboxRefusal, detail: string, count: number) => void;
  readonly senders?: number;
}

const QUIET = 60_000;

/** Receives one kind of message: decodes, checks the order, counts refusals. Never throws. */
export class Inbox<T> {
  readonly counts: InboxCounts = {
    taken: 0,
    malformed: 0,
    too_large: 0,
    not_finite: 0,
    wrong_version: 0,
    repeated: 0,
    out_of_order: 0,
    old_boot: 0,
  };
  readonly #options: InboxOptions<T>;
  readonly #guard: SequenceGuard;
  readonly #lastReported = new Map<InboxRefusal, number>();

  constructor(options: InboxOptions<T>) {
    this.#options = options;
    this.#guard = new SequenceGuard(options.senders);
  }

  /** Null if it was refused. */
  take(data: Uint8Array, now: Millis): T | null {
    const decoded = this.#options.decode(data);
    if (!decoded.ok) {
      this.#refuse(decoded.kind, decoded.detail, now);
      return null;
    }
    if (this.#options.stamp) {
      const stamp = this.#options.stamp(decoded.message);
      const refusal = this.#guard.check(stamp);
      if (refusal) {
        this.#refuse(refusal, `${stamp.sender} ${stamp.sequence}`, now);
        return null;
      }
    }
    this.counts.taken++;
    return decoded.message;
  }

  #refuse(kind: InboxRefusal, detail: string, now: Millis): void {
    this.counts[kind]++;
    const lastReported = this.#lastReported.get(kind);
    if (lastReported !== undefined && now - lastReported < QUIET) return;
    this.#lastReported.set(kind, now);
    this.#options.refused?.(kind, detail, this.counts[kind]);
  }
}
