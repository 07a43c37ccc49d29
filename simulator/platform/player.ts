import type { SimPlatform } from './sim-platform.js';

/** Real milliseconds between two ticks. */
const TICK_MILLIS = 10;
/**
 * At unlimited speed: simulated time between two turns of the event loop, so that messages and
 * promises are handled.
 */
const CHUNK_MICROS = 20_000;
/** A process that was held up for longer than this does not try to catch up. */
const MAX_DEBT_MILLIS = 500;

export interface PlayerOptions {
  /** Simulated seconds a real second; Infinity = as fast as possible. */
  readonly speed?: number;
}

/**
 * Moves a simulated host along with real time, at a multiple of it. Simulated time stands still
 * between two ticks: what arrives from outside (a target over NATS) takes effect at that instant.
 */
export class Player {
  readonly #host: SimPlatform;
  readonly #speed: number;
  #stopped = false;
  #resume: (() => void) | undefined;
  #done: Promise<'finished' | 'stopped'> | undefined;
  /** Simulated time and real time of day at the last tick, us. */
  #anchor: { readonly simulated: number; readonly real: number } | null = null;

  /** @throws RangeError unless the speed is positive */
  constructor(host: SimPlatform, { speed = 1 }: PlayerOptions = {}) {
    if (!(speed > 0)) throw new RangeError(`the speed must be positive, not ${speed}`);
    this.#host = host;
    this.#speed = speed;
  }

  /** Resolves when all activations are over, or when stopped; a repeating host never finishes. */
  play(): Promise<'finished' | 'stopped'> {
    this.#done ??= this.#loop();
    return this.#done;
  }

  stop(): void {
    this.#stopped = true;
    this.#resume?.();
  }

  /** The real time of day of a moment of simulated time, at the present speed; us. */
  timeOfDay(simulatedMicros: number): number {
    const { simulated, real } = this.#anchor ?? {
      simulated: this.#host.now,
      real: Date.now() * 1000,
    };
    if (this.#speed === Number.POSITIVE_INFINITY) return real;
    return real - (simulated - simulatedMicros) / this.#speed;
  }

  async #loop(): Promise<'finished' | 'stopped'> {
    let last = performance.now();
    while (!this.#host.finished) {
      let step = CHUNK_MICROS;
      if (this.#speed === Number.POSITIVE_INFINITY) {
        await new Promise<void>((turn) => setImmediate(turn));
      } else {
        await this.#sleep(TICK_MILLIS);
        const now = performance.now();
        step = Math.round(Math.min(now - last, MAX_DEBT_MILLIS) * 1000 * this.#speed);
        last = now;
      }
      if (this.#stopped) return 'stopped';
      this.#anchor = { simulated: this.#host.now + step, real: Date.now() * 1000 };
      this.#host.run(this.#host.now + step);
    }
    return 'finished';
  }

  #sleep(millis: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(handle);
        resolve();
      };
      const handle = setTimeout(done, millis);
      this.#resume = done;
    });
  }
}
