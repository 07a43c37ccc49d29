import { Fn as FN, type FunctionRows } from './function-rows.js';

const Fn = FN;

/**
 * Placement of OpenWhisk's sharding load balancer: a function has a home host and a step, by hash
 * of namespace and action. From home on it takes the first host, step by step, with free user
 * memory (nominal memory in flight). Steps are coprime to the number of hosts, so all are tried.
 * [OpenWhisk ShardingContainerPoolBalancer.scala]
 */
export class Balancer {
  declare readonly hosts: number;
  declare private readonly functions: FunctionRows;
  declare private readonly userMemory: number;
  /** MiB of the activations in flight, forced ones included. */
  declare readonly inFlight: Float64Array;
  /** 1: takes activations. */
  declare readonly alive: Uint8Array;
  /** Activations sent to a full host. */
  forced = 0;
  declare private readonly seed: number;

  /** Writes homes and steps into the functions' rows. `userMemory` in MiB. */
  constructor(functions: FunctionRows, hosts: number, userMemory: number, seed: number) {
    this.hosts = hosts;
    this.functions = functions;
    this.userMemory = userMemory;
    this.seed = seed;
    this.inFlight = new Float64Array(hosts);
    this.alive = new Uint8Array(hosts).fill(1);
    const steps = coprimeSteps(hosts);
    functions.specs.forEach(({ name }, fn) => {
      const hash = placementHash(name);
      functions.set(fn, Fn.home, hash % hosts);
      functions.set(fn, Fn.step, steps[hash % steps.length]!);
    });
  }

  /** A host with room, its memory taken; -1 where all are full or gone. */
  acquire(fn: number, memory: number): number {
    const { hosts, inFlight, alive } = this;
    const limit = this.userMemory - memory;
    const step = this.functions.get(fn, Fn.step);
    let host = this.functions.get(fn, Fn.home);
    for (let asked = 0; asked < hosts; asked++) {
      if (inFlight[host]! <= limit && alive[host] === 1) {
        inFlight[host] = inFlight[host]! + memory;
        return host;
      }
      host += step;
      if (host >= hosts) host -= hosts;
    }
    return -1;
  }

  /**
   * If all are full, OpenWhisk forces the activation on a random healthy host. Here a hash of seed
   * and activation chooses it, so that all managers get the same host. -1: no host is left.
   */
  force(activation: number, memory: number): number {
    const { hosts, alive } = this;
    let host = mix(this.seed, activation) % hosts;
    for (let asked = 0; asked < hosts; asked++) {
      if (alive[host] === 1) {
        this.inFlight[host] = this.inFlight[host]! + memory;
        this.forced++;
        return host;
      }
      host = host + 1 === hosts ? 0 : host + 1;
    }
    return -1;
  }

  take(host: number, memory: number): void {
    this.inFlight[host] = this.inFlight[host]! + memory;
  }

  fits(host: number, memory: number): boolean {
    return this.alive[host] === 1 && this.inFlight[host]! + memory <= this.userMemory;
  }

  release(host: number, memory: number): void {
    this.inFlight[host] = this.inFlight[host]! - memory;
  }
}

/** Pairwise coprime to each other and to `hosts`, from 1 up: what OpenWhisk chooses a step from. */
export function coprimeSteps(hosts: number): number[] {
  const steps: number[] = [];
  for (let candidate = 1; candidate <= hosts; candidate++) {
    if (gcd(candidate, hosts) === 1 && steps.every((step) => gcd(step, candidate) === 1))
      steps.push(candidate);
  }
  return steps;
}

/** Java's string hashes of namespace and of the whole name, one XOR the other, without the sign. */
export function placementHash(name: string): number {
  const namespace = name.split('/')[1] ?? '';
  const hash = javaHash(namespace) ^ javaHash(name.slice(1));
  return hash === -2_147_483_648 ? 0 : Math.abs(hash);
}

function javaHash(text: string): number {
  let hash = 0;
  for (let i = 0; i < text.length; i++) hash = (Math.imul(31, hash) + text.charCodeAt(i)) | 0;
  return hash;
}

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b);
}

/** A well mixed 31-bit number of a seed and a counter (splitmix32's finaliser). */
function mix(seed: number, counter: number): number {
  let t = (Math.imul(seed | 0, 0x9e3779b9) ^ Math.imul(counter | 0, 0x85ebca6b)) | 0;
  t = Math.imul(t ^ (t >>> 16), 0x21f0aaad);
  t = Math.imul(t ^ (t >>> 15), 0x735a2d97);
  return (t ^ (t >>> 15)) >>> 1;
}
