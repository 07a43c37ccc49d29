import type { ClusterShape } from './options.js';

/** Prewarmed containers that are ready, by host and kind, and their nominal memory. */
export class Prewarmed {
  declare private readonly kinds: ClusterShape['prewarm'];
  declare private readonly counts: Int32Array;

  constructor({ hosts, prewarm }: ClusterShape) {
    this.kinds = prewarm;
    this.counts = new Int32Array(hosts * prewarm.length);
  }

  /** A kind of that memory, MiB, of which one is ready; -1: none. */
  of(host: number, memory: number): number {
    const kinds = this.kinds;
    for (let kind = 0; kind < kinds.length; kind++)
      if (kinds[kind]!.memoryMiB === memory && this.counts[host * kinds.length + kind]! > 0)
        return kind;
    return -1;
  }

  add(host: number, kind: number): void {
    const key = host * this.kinds.length + kind;
    this.counts[key] = this.counts[key]! + 1;
  }

  take(host: number, kind: number): void {
    const key = host * this.kinds.length + kind;
    this.counts[key] = this.counts[key]! - 1;
  }

  /** MiB of all on a host. */
  memory(host: number): number {
    const kinds = this.kinds;
    let memory = 0;
    for (let kind = 0; kind < kinds.length; kind++)
      memory += kinds[kind]!.memoryMiB * this.counts[host * kinds.length + kind]!;
    return memory;
  }

  /** A host has lost them all; returns their MiB. */
  clear(host: number): number {
    const memory = this.memory(host);
    this.counts.fill(0, host * this.kinds.length, (host + 1) * this.kinds.length);
    return memory;
  }
}
