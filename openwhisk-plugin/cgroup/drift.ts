import type { ContainerInfo, LimitHandle, Limits, WriteResult } from '../ports/index.js';

/** A handle that also watches swap; others are watched for their limits only. */
export interface DriftHandle extends LimitHandle {
  swapHolds?(): boolean;
  repairSwap?(): WriteResult;
}

export interface Drift {
  readonly container: ContainerInfo;
  readonly limit: 'shares' | 'quota' | 'memory' | 'swap';
  readonly expected: number;
  readonly found: number;
  readonly result: WriteResult;
}

interface Watched {
  readonly container: ContainerInfo;
  readonly handle: DriftHandle;
}

/** Millicores: what rounding a quota to whole microseconds can make. */
const QUOTA_ROUNDING = 0.02;

/**
 * Compares what was last written with what the kernel says, every few seconds: systemd's daemon-reload, an operator's hand or a
 * half-applied engine call undo limits without a word (field-notes A2-08, A2-09, A2-10). What differs is written again, counted and
 * reported once per finding.
 */
export class DriftWatch {
  readonly #watched = new Map<string, Watched>();
  readonly #report: (drift: Drift) => void;
  readonly #found: Limits = { shares: 0, quota: 0 as Limits['quota'], memory: 0 as Limits['memory'] };
  /** Findings so far (`drift_total`). */
  total = 0;

  constructor(report: (drift: Drift) => void) {
    this.#report = report;
  }

  watch(container: ContainerInfo, handle: DriftHandle): void {
    this.#watched.set(container.id, { container, handle });
  }

  unwatch(id: string): void {
    this.#watched.delete(id);
  }

  /** One comparison of every watched container; resolves when the repairs are done. Those whose cgroup is gone are left out. */
  async pass(): Promise<void> {
    for (const watched of [...this.#watched.values()]) await this.#check(watched);
  }

  async #check({ container, handle }: Watched): Promise<void> {
    const found = this.#found;
    if (!handle.read(found)) return;
    const { shares, quota, memory } = handle.expected;
    const now = { shares: found.shares, quota: found.quota, memory: found.memory };
    if (now.shares !== shares) this.#note(container, 'shares', shares, now.shares, handle.setShares(shares));
    if (Math.abs(now.quota - quota) > QUOTA_ROUNDING) {
      this.#note(container, 'quota', quota, now.quota, handle.setQuota(quota));
    }
    if (now.memory !== memory) {
      const isHigher = memory !== 0 && (now.memory === 0 || now.memory > memory);
      const result = isHigher ? await handle.lowerMemory(memory) : handle.raiseMemory(memory);
      this.#note(container, 'memory', memory, now.memory, result);
    } else if (handle.swapHolds && handle.repairSwap && !handle.swapHolds()) {
      this.#note(container, 'swap', 0, 1, handle.repairSwap());
    }
  }

  #note(container: ContainerInfo, limit: Drift['limit'], expected: number, found: number, result: WriteResult): void {
    if (result === 'gone') return;
    this.total++;
    this.#report({ container, limit, expected, found, result });
  }
}
