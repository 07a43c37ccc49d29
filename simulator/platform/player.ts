import type { SimHost } from './host.js';

/** Real milliseconds between two looks at the clock. */
const TICK_MILLIS = 10;
/**
 * With no pace to keep: simulated time between two turns of the event loop, so that messages and
 * promises get through.
 */
const CHUNK_MICROS = 20_000;
/** A process that was held up by more than this does not try to catch up. */
const MOST_DEBT_MILLIS = 500;

export interface PlayerOptions {
  /** Simulated seconds a real second; Infinity = as fast as it goes. */
  readonly speed?: number;
  /** Simulated us that are played on after the last activation has ended. */
  readonly lingerMicros?: number;
}

/**
 * Moves a simulated host along with real time, at a multiple of it. Between two ticks simulated
 * time stands still; what arrives from outside meanwhile (a target over NATS) takes effect at that
 * instant.
 */
export class Player {
  readonly #host: SimHost;
  readonly #linger: number;
  #speed: number;
  #state: 'ready' | 'playing' | 'paused' | 'stopped' | 'finished' = 'ready';
  #notify: (() => void) | undefined;
  #done: Promise<'finished' | 'stopped'> | undefined;
  /** Simulated time and real time of day at the last tick, us. */
  #anchor: { readonly simulated: number; readonly real: number } | null = null;

  constructor(host: SimHost, options: PlayerOptions = {}) {
    this.#host = host;
    this.#speed = checkSpeed(options.speed ?? 1);
    this.#linger = options.lingerMicros ?? 0;
  }

  get state(): 'ready' | 'playing' | 'paused' | 'stopped' | 'finished' {
    return this.#state;
  }

  get speed(): number {
    return this.#speed;
  }

  /** Takes effect within a tick. @throws RangeError unless positive */
  set speed(value: number) {
    this.#speed = checkSpeed(value);
  }

  /**
   * Resolves when all activations are over, or when stopped; a repeating host is played until then.
   */
  play(): Promise<'finished' | 'stopped'> {
    if (this.#state === 'ready') {
      this.#state = 'playing';
      this.#done = this.#loop();
    } else {
      this.resume();
    }
    return this.#done!;
  }

  pause(): void {
    if (this.#state === 'playing') this.#state = 'paused';
  }

  resume(): void {
    if (this.#state !== 'paused') return;
    this.#state = 'playing';
    this.#notify?.();
  }

  stop(): void {
    if (this.#state === 'finished' || this.#state === 'stopped') return;
    this.#state = 'stopped';
    this.#notify?.();
  }

  /** The real time of day at which a moment of simulated time was, at the speed of now; us. */
  timeOfDay(simulatedMicros: number): number {
    const { simulated, real } = this.#anchor ?? {
      simulated: this.#host.now,
      real: Date.now() * 1000,
    };
    return (
      real -
      (this.#speed === Number.POSITIVE_INFINITY ? 0 : (simulated - simulatedMicros) / this.#speed)
    );
  }

  async #loop(): Promise<'finished' | 'stopped'> {
    let last = performance.now();
    let end = Number.POSITIVE_INFINITY;
    for (;;) {
      if (this.#state === 'stopped') return 'stopped';
      if (this.#state === 'paused') {
        await new Promise<void>((notify) => {
          this.#notify = notify;
        });
        this.#notify = undefined;
        last = performance.now();
        continue;
      }
      let step = CHUNK_MICROS;
      if (this.#speed === Number.POSITIVE_INFINITY) {
        await new Promise<void>((turn) => setImmediate(turn));
        last = performance.now();
      } else {
        await this.#sleep(TICK_MILLIS);
        const now = performance.now();
        step = Math.round(Math.min(now - last, MOST_DEBT_MILLIS) * 1000 * this.#speed);
        last = now;
      }
      // Paused or stopped while it slept: no time passes.
      if (this.#state !== 'playing') continue;
      this.#anchor = { simulated: this.#host.now + step, real: Date.now() * 1000 };
      this.#host.run(Math.min(this.#host.now + step, end));
      if (this.#host.finished && end === Number.POSITIVE_INFINITY)
        end = this.#host.now + this.#linger;
      if (this.#host.now >= end) {
        this.#state = 'finished';
        return 'finished';
      }
    }
  }

  #sleep(millis: number): Promise<void> {
    return new Promise((resolve) => {
      const handle = setTimeout(done, millis);
      function done(): void {
        clearTimeout(handle);
        resolve();
      }
      this.#notify = done;
    });
  }
}

function checkSpeed(speed: number): number {
  if (!(speed > 0)) throw new RangeError(`a speed must be positive, not ${speed}`);
  return speed;
}
