import { execFile } from 'node:child_process';

/** Runtime properties of a systemd unit; a port, because only a host with the systemd cgroup driver has them. */
export interface ScopeProperties {
  /** @param properties e.g. `MemoryMax=268435456`. Rejects where systemd refuses. */
  set(unit: string, properties: readonly string[]): Promise<void>;
}

/** The arguments of `systemctl` for a change that lasts until the unit or the machine goes. */
export function setPropertyArguments(unit: string, properties: readonly string[]): string[] {
  return ['set-property', '--runtime', '--', unit, ...properties];
}

/** Runs `systemctl`, without a shell, for at most five seconds. */
export const systemctl: ScopeProperties = {
  set: (unit, properties) =>
    new Promise((resolve, reject) => {
      execFile('systemctl', setPropertyArguments(unit, properties), { timeout: 5000 }, (error) =>
        error ? reject(error) : resolve(),
      );
    }),
};

/**
 * What of a container must also be told to systemd, which re-applies its own idea at every daemon-reload (field-notes A2-09,
 * A2-10). Only what would harm when reverted: a memory loan (the limit would fall below the use) and the lender's protection. A
 * quota or a weight that is reverted is the user's own again, and the drift watch sets it anew.
 */
export class SystemdScope {
  readonly #unit: string;
  readonly #version: 1 | 2;
  readonly #properties: ScopeProperties;
  readonly #onFailure: (error: unknown) => void;
  #running = false;
  #next: readonly string[] | null = null;
  #memory: readonly string[] = [];
  #low: readonly string[] = [];

  constructor(unit: string, version: 1 | 2, properties: ScopeProperties, onFailure: (error: unknown) => void) {
    this.#unit = unit;
    this.#version = version;
    this.#properties = properties;
    this.#onFailure = onFailure;
  }

  /** Bytes; Infinity = none. On v1 systemd knows no swap limit, and none is reverted. */
  memory(limit: number, swap: number): void {
    this.#memory =
      this.#version === 1
        ? [`MemoryLimit=${text(limit)}`]
        : [`MemoryMax=${text(limit)}`, `MemorySwapMax=${text(swap)}`];
    this.#send();
  }

  protection(amount: number): void {
    this.#low = [`MemoryLow=${text(amount)}`];
    this.#send();
  }

  /** One call at a time and the newest wins: systemctl takes tens of milliseconds. */
  #send(): void {
    this.#next = [...this.#memory, ...this.#low];
    if (!this.#running) void this.#drain();
  }

  async #drain(): Promise<void> {
    this.#running = true;
    while (this.#next !== null) {
      const properties = this.#next;
      this.#next = null;
      try {
        await this.#properties.set(this.#unit, properties);
      } catch (error) {
        this.#onFailure(error);
      }
    }
    this.#running = false;
  }
}

const text = (value: number): string => (value === Number.POSITIVE_INFINITY ? 'infinity' : String(value));
