import type { Random } from '../../config/index.js';
import type { Request } from './request.js';
import { RULES } from './rules.js';
import { Server } from './server.js';

/** Thirty servers on a clock that ticks with every second and with every event. [Freyr-sim] */
export class Cluster {
  readonly #servers = Array.from({ length: RULES.servers }, () => new Server());
  /** Chooses a server if all are full: unseeded in the published simulator, seeded here. */
  readonly #overload: Random;
  readonly #ended: (request: Request) => void;
  second = 0;

  constructor(overload: Random, ended: (request: Request) => void) {
    this.#overload = overload;
    this.#ended = ended;
  }

  get freeCpu(): number {
    return this.#servers.reduce((sum, server) => sum + server.freeCpu, 0);
  }

  get freeMemory(): number {
    return this.#servers.reduce((sum, server) => sum + server.freeMemory, 0);
  }

  /** Running and queued. */
  get inFlight(): number {
    return this.#servers.reduce((sum, server) => sum + server.inFlight, 0);
  }

  get isIdle(): boolean {
    return this.#servers.every((server) => server.isIdle);
  }

  /** The next second's tick. */
  advance(): void {
    this.second++;
    this.step();
  }

  step(): void {
    for (const server of this.#servers) server.step(this.second, this.#ended);
  }

  place(request: Request): void {
    const home = request.fn.index % RULES.servers;
    for (let probe = 0; probe < RULES.servers; probe++) {
      const server = this.#servers[(home + probe * RULES.probeStep) % RULES.servers]!;
      if (!server.fits(request)) continue;
      server.accept(request);
      return;
    }
    this.#servers[this.#overload.below(RULES.servers)]!.enqueue(request);
  }
}
