import { MIB, type Random } from '../../config/index.js';
import type { ActivationBlock } from './activation-stream.js';
import { expectedActivations } from './arrivals.js';
import { normalQuantile } from './distribution.js';
import { DistributionTable } from './distribution-table.js';
import { ProbabilityTable } from './probability-table.js';
import type { Compression, Workload, WorkloadFunction } from './workload.js';

/** Streams of a function's demand: apart, so that a function added or removed changes no other. */
const STREAMS = ['cpu', 'io', 'memory', 'payload'] as const;
const CPU = 0;
const IO = 1;
const MEMORY = 2;
const PAYLOAD = 3;

/** A function's row: base memory, MiB; payload; exponents by which it changes each demand. */
const At = { base: 0, logMedian: 1, sigma: 2, cpu: 3, io: 4, memory: 5 } as const;
const ROW = 6;

/**
 * Draws what activations need, for all functions of a workload, a block at once and column by
 * column; nothing is allocated per activation. One that waits longer also computes longer if both
 * come from one recorded duration: then they share a draw.
 */
export class DemandTable {
  declare private readonly functions: readonly WorkloadFunction[];
  declare private readonly compression: Compression | undefined;
  readonly #distributions = new DistributionTable();
  declare private readonly probabilities: ProbabilityTable;
  /** A row a function: see `At`. */
  declare private readonly numbers: Float64Array;
  /** By function: its distributions, and 1 if waits take the draw of the CPU work. */
  declare private readonly cpu: Int32Array;
  declare private readonly io: Int32Array;
  declare private readonly peak: Int32Array;
  declare private readonly together: Uint8Array;

  /** @param randoms one per function */
  constructor({ functions, compression, draws }: Workload, randoms: readonly Random[]) {
    this.functions = functions;
    this.compression = compression.duration === 1 ? undefined : compression;
    this.probabilities = new ProbabilityTable(functions.length);
    this.numbers = new Float64Array(functions.length * ROW);
    this.cpu = new Int32Array(functions.length);
    this.io = new Int32Array(functions.length);
    this.peak = new Int32Array(functions.length);
    this.together = new Uint8Array(functions.length);
    functions.forEach((fn, index) => {
      const { cpuMs, ioMs, memory, payload } = fn.profile;
      this.cpu[index] = this.#distributions.add(cpuMs);
      this.io[index] = this.#distributions.add(ioMs);
      this.peak[index] = this.#distributions.add(memory.peakMiB);
      this.together[index] = sameShape(fn) ? 1 : 0;
      const row = index * ROW;
      this.numbers[row + At.base] = memory.baseMiB;
      this.numbers[row + At.logMedian] = Math.log(payload.median);
      this.numbers[row + At.sigma] = payload.sigma;
      this.numbers[row + At.cpu] = payload.cpu;
      this.numbers[row + At.io] = payload.io;
      this.numbers[row + At.memory] = payload.memory;
      const strata =
        draws === 'stratified' ? Math.max(1, Math.round(expectedActivations(fn.arrivals))) : 0;
      const streams = STREAMS.map((name) => randoms[index]!.fork(name));
      this.probabilities.seed(index, streams, strata);
    });
  }

  /** Writes the demand of the first `count` activations of a block, whose functions are set. */
  fill(block: ActivationBlock, count: number): void {
    this.#drawProbabilities(block, count);
    this.#distributions.replace(block.cpu, this.cpu, block.fn, count);
    this.#distributions.replace(block.io, this.io, block.fn, count);
    this.#distributions.replace(block.peak, this.peak, block.fn, count);
    for (let i = 0; i < count; i++) this.#finish(block, i);
  }

  /** Writes probabilities into the columns of what they are of. */
  #drawProbabilities({ fn: fns, cpu, io, peak, payload }: ActivationBlock, count: number): void {
    const { probabilities } = this;
    for (let i = 0; i < count; i++) {
      const fn = fns[i]!;
      probabilities.advance(fn);
      const u = this.#probability(this.cpu[fn]!, fn, CPU);
      cpu[i] = u;
      io[i] = this.together[fn] === 1 ? u : this.#probability(this.io[fn]!, fn, IO);
      peak[i] = this.#probability(this.peak[fn]!, fn, MEMORY);
      payload[i] = this.numbers[fn * ROW + At.sigma]! > 0 ? probabilities.next(fn, PAYLOAD) : 0;
    }
  }

  #probability(distribution: number, fn: number, stream: number): number {
    return this.#distributions.isConstant(distribution) ? 0 : this.probabilities.next(fn, stream);
  }

  /** From milliseconds and MiB at the median payload to the demand. */
  #finish(block: ActivationBlock, i: number): void {
    const { numbers } = this;
    const fn = block.fn[i]!;
    const row = fn * ROW;
    const base = numbers[row + At.base]!;
    let cpuMs = block.cpu[i]!;
    let ioMs = block.io[i]!;
    let above = block.peak[i]! - base;
    let size = 1;
    const sigma = numbers[row + At.sigma]!;
    let logSize = numbers[row + At.logMedian]!;
    if (sigma > 0) logSize += sigma * normalQuantile(block.payload[i]!);
    if (logSize !== 0) {
      size = Math.exp(logSize);
      cpuMs *= power(size, logSize, numbers[row + At.cpu]!);
      ioMs *= power(size, logSize, numbers[row + At.io]!);
      above *= power(size, logSize, numbers[row + At.memory]!);
    }
    let factor = 1000;
    if (this.compression !== undefined) {
      factor *= compressionOf(soloMs(this.functions[fn]!, cpuMs, ioMs), this.compression);
    }
    block.cpu[i] = cpuMs * factor;
    block.io[i] = Math.round(ioMs * factor);
    block.peak[i] = Math.round((base + Math.max(0, above)) * MIB);
    block.payload[i] = size;
  }
}

function power(size: number, logSize: number, exponent: number): number {
  if (exponent === 0) return 1;
  return exponent === 1 ? size : Math.exp(logSize * exponent);
}

/**
 * Duration of an activation alone on its host at the user's CPU, ms; by a fluid quota, as a trace's
 * durations are known no finer.
 */
export function soloMs(fn: WorkloadFunction, cpuMs: number, ioMs: number): number {
  const user = fn.userCpuMillicores === null ? fn.profile.parallelism : fn.userCpuMillicores / 1000;
  return cpuMs / Math.min(fn.profile.parallelism, user) + ioMs;
}

/** What a duration is multiplied by. */
export function compressionOf(durationMs: number, compression: Compression): number {
  if (durationMs <= compression.aboveMs) return 1;
  return Math.min(1, Math.max(durationMs / compression.duration, compression.floorMs) / durationMs);
}

/** Whether waits follow the CPU work: both come from one recorded duration. */
export function sameShape(fn: WorkloadFunction): boolean {
  const { cpuMs, ioMs } = fn.profile;
  return (
    typeof cpuMs === 'object' &&
    typeof ioMs === 'object' &&
    'quantiles' in cpuMs &&
    'quantiles' in ioMs
  );
}
