import { randomBytes } from 'node:crypto';
import type { Random } from '../../config/index.js';
import { nextActivationId, type RunTiming, runRequest, sendRun } from '../hook/http-load.js';
import { type FarmCgroup, FarmCgroups, type FarmProcess } from './cgroups.js';
import { FarmEngine } from './engine.js';
import { FarmNetwork } from './network.js';

/** Prefix of the containers' names, unused by real invokers. */
const FARM_PREFIX = 'wskfarm0';

export interface FarmOptions {
  readonly containers: number;
  readonly functions: number;
  readonly random: Random;
  /** What is in each container; a process that sleeps. */
  readonly process?: FarmProcess;
}

interface Container {
  readonly id: string;
  readonly slot: number;
  readonly action: string;
  readonly address: string;
  readonly cgroup: FarmCgroup;
  busy: boolean;
}

export interface LoadResult {
  readonly sent: number;
  readonly failed: number;
  /** Starts for which no container was idle. */
  readonly skipped: number;
  /** Answered late because this process was delayed; says nothing about the hook. */
  readonly delayed: number;
}

/** Delay, ms, from which this process counts as delayed. */
const DELAY_MILLIS = 2000;

/**
 * Thousands of containers as the hook sees them, without one real container: cgroups of the kernel
 * with a sleeping process each, the Engine's answers, and real packets on real addresses. Needs
 * root.
 */
export class Farm {
  readonly #cgroups: FarmCgroups;
  readonly #network: FarmNetwork;
  readonly engine: FarmEngine;
  readonly #random: Random;
  readonly #containers: Container[] = [];
  readonly #functions: number;
  readonly #count: number;
  #made = 0;
  #generation = 0;
  /** Activations sent so far. */
  sent = 0;

  constructor(options: FarmOptions) {
    const suffix = (process.pid % 2 ** 25).toString(36);
    this.#cgroups = new FarmCgroups(`gleaner-farm-${suffix}`, options.process);
    this.#network = new FarmNetwork(suffix, process.pid % 100);
    const { bridge, gateway } = this.#network;
    this.engine = new FarmEngine({ bridge, gateway, cgroupVersion: this.#cgroups.version });
    this.#random = options.random;
    this.#functions = options.functions;
    this.#count = options.containers;
  }

  async start(): Promise<void> {
    await this.#network.start();
    await this.engine.start();
    for (let slot = 0; slot < this.#count; slot++) this.#containers.push(this.#make(slot));
  }

  /** Where the hook listens, for its configuration. */
  get hookSettings(): object {
    return { engineSocket: this.engine.socketPath, containerPrefix: FARM_PREFIX };
  }

  /**
   * Ends the container in a random place and puts a new one there, as an invoker does; one that is
   * busy is left alone.
   */
  async replaceOne(): Promise<void> {
    const slot = this.#random.below(this.#containers.length);
    const old = this.#containers[slot]!;
    if (old.busy) return;
    old.busy = true;
    await old.cgroup.remove();
    this.engine.remove(old.id);
    this.#containers[slot] = this.#make(slot);
  }

  /**
   * From here on new containers belong to functions of other names, so that functions come and go,
   * too.
   */
  renameFunctions(): void {
    this.#generation++;
  }

  /**
   * Open loop at a steady rate on idle containers of random functions, until `signal`; resolves
   * when all have been answered.
   */
  async load(perSecond: number, runMillis: () => number, signal: AbortSignal): Promise<LoadResult> {
    const begun = performance.now();
    const open = new Set<Promise<void>>();
    let [failed, skipped, delayed, due] = [0, 0, 0, 0];
    let [turnAt, delayedAt] = [begun, Number.NEGATIVE_INFINITY];
    while (!signal.aborted) {
      const now = performance.now();
      if (now - turnAt > DELAY_MILLIS) {
        delayedAt = now;
        // What was due meanwhile would come all at once.
        due = Math.max(due, Math.floor(((now - begun) / 1000) * perSecond));
      }
      turnAt = now;
      for (const until = ((performance.now() - begun) / 1000) * perSecond; due < until; due++) {
        const container = this.#idle();
        if (container === null) {
          skipped++;
          continue;
        }
        this.sent++;
        const work = this.#send(container, Math.round(runMillis())).then(
          ({ ok, startedMicros }) => {
            if (
              !ok &&
              (startedMicros < delayedAt * 1000 || performance.now() - turnAt > DELAY_MILLIS)
            )
              delayed++;
            else if (!ok) failed++;
            open.delete(work);
          },
        );
        open.add(work);
      }
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    await Promise.all(open);
    return { sent: this.sent, failed, skipped, delayed };
  }

  async stop(): Promise<void> {
    await this.engine.close();
    await this.#network.stop();
    await this.#cgroups.close();
  }

  async #send(container: Container, millis: number): Promise<RunTiming> {
    container.busy = true;
    const { address, action } = container;
    const request = runRequest(address, action, nextActivationId(), Date.now() + 60_000, {
      ms: millis,
    });
    const result = await sendRun(address, request);
    container.busy = false;
    return result;
  }

  /**
   * Of a random function the first container that is idle, as an invoker takes the one used last.
   */
  #idle(): Container | null {
    const all = this.#containers;
    for (let tries = 0; tries < 20; tries++) {
      for (
        let slot = this.#random.below(this.#functions);
        slot < all.length;
        slot += this.#functions
      )
        if (!all[slot]!.busy) return all[slot]!;
    }
    return null;
  }

  #make(slot: number): Container {
    const id = randomBytes(32).toString('hex');
    const cgroup = this.#cgroups.add(id);
    const address = this.#network.address(slot);
    const action = `/guest/farm${this.#generation}x${slot % this.#functions}`;
    const name = `${FARM_PREFIX}_${++this.#made}_guest_farm${slot % this.#functions}`;
    this.engine.add({ id, name, address, pid: cgroup.pid, startedAt: new Date().toISOString() });
    return { id, slot, action, address, cgroup, busy: false };
  }
}
