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

/** Numbers of a function's row. */
const ROW = 6;
/**
 * Handles of a function's row: its three distributions, and whether waits take the draw of the CPU
 * work.
 */
const HANDLES = 4;

/**
 * Draws what activations need, for all functions of a workload; nothing is allocated per
 * activation. One that waits longer also computes longer if both come from one recorded duration:
 * then they share a draw.
 */
export class DemandTable {
  declare private readonly functions: readonly WorkloadFunction[];
  declare private readonly compression: Compression | undefined;
  readonly #distributions = new DistributionTable();
  declare private readonly probabilities: ProbabilityTable;
  /**
   * Base memory, MiB; logarithm of the payload's median; its sigma; exponents for CPU, waits and
   * memory.
   */
  declare private readonly numbers: Float64Array;
  declare private readonly handles: Int32Array;

  /** @param randoms one per function */
  constructor({ functions, compression, draws }: Workload, randoms: readonly Random[]) {
    this.functions = functions;
    this.compression = compression.duration === 1 ? undefined : compression;
    this.probabilities = new ProbabilityTable(functions.length);
    this.numbers = new Float64Array(functions.length * ROW);
    this.handles = new Int32Array(functions.length * HANDLES);
    functions.forEach((fn, index) => {
      const { cpuMs, ioMs, memory, payload } = fn.profile;
      const add = this.#distributions.add.bind(this.#distributions);
      this.handles.set(
        [add(cpuMs), add(ioMs), add(memory.peakMiB), sameShape(fn) ? 1 : 0],
        index * HANDLES,
      );
      const size = [
        Math.log(payload.median),
        payload.sigma,
        payload.cpu,
        payload.io,
        payload.memory,
      ];
      this.numbers.set([memory.baseMiB, ...size], index * ROW);
      const strata =
        draws === 'stratified' ? Math.max(1, Math.round(expectedActivations(fn.arrivals))) : 0;
      const streams = STREAMS.map((name) => randoms[index]!.fork(name));
      this.probabilities.seed(index, streams, strata);
    });
    this.#distributions.seal();
  }

  /** Writes the demand of the first `count` activations of a block. */
  fill(block: ActivationBlock, count: number): void {
    for (let i = 0; i < count; i++) this.draw(block.fn[i]!, block, i);
  }

  /** Writes the demand of the next activation of a function to row `i`. */
  draw(fn: number, block: ActivationBlock, i: number): void {
    this.probabilities.advance(fn);
    const row = fn * ROW;
    const numbers = this.numbers;
    const base = numbers[row]!;
    const cpu = this.handles[fn * HANDLES]!;
    const io = this.handles[fn * HANDLES + 1]!;
    const u = this.#probability(cpu, fn, CPU);
    let cpuMs = this.#distributions.at(cpu, u);
    const together = this.handles[fn * HANDLES + 3] === 1;
    let ioMs = this.#distributions.at(io, together ? u : this.#probability(io, fn, IO));
    const peak = this.handles[fn * HANDLES + 2]!;
    let above = this.#distributions.at(peak, this.#probability(peak, fn, MEMORY)) - base;
    let size = 1;
    const sigma = numbers[row + 2]!;
    let logSize = numbers[row + 1]!;
    if (sigma > 0) logSize += sigma * normalQuantile(this.probabilities.next(fn, PAYLOAD));
    if (logSize !== 0) {
      size = Math.exp(logSize);
      cpuMs *= power(size, logSize, numbers[row + 3]!);
      ioMs *= power(size, logSize, numbers[row + 4]!);
      above *= power(size, logSize, numbers[row + 5]!);
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

  #probability(distribution: number, fn: number, stream: number): number {
    return this.#distributions.isConstant(distribution) ? 0 : this.probabilities.next(fn, stream);
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
