import { cpus, totalmem } from 'node:os';
import { type Bytes, MIB, type Millicores, type Random, SeededRandom } from '../../config/index.js';
import { ActivationLog, ClusterOutcome, simulateCluster } from '../../simulator/engine/index.js';
import type {
  ActivationBlock,
  ActivationStream,
  StreamedFunction,
} from '../../simulator/workload/index.js';
import type { Subject } from '../benefit/load.js';
import {
  CONTAINERS,
  type Contended,
  SETTLE_MS,
  USER_MEMORY_MB,
  WARM_UP_CPU_MS,
} from './contended.js';
import { coresOf, cpuOf, type SoloProfile } from './profile.js';
import { type FidelityPayload, meanDemandOf } from './subjects.js';

/** Simulated containers are all made within this time, ms. */
const MADE_MS = 2000;
/** Before the arrivals that count: every container is made and called once, as in the real runs. */
const WARM_UP_MS = MADE_MS + SETTLE_MS;

/**
 * Durations of `/run` predicted for one condition, ms by function: same functions, arrivals,
 * payloads and manager. Demand comes from the solo profiles only.
 */
export function predict(
  subjects: readonly Subject[],
  profiles: ReadonlyMap<string, SoloProfile>,
  condition: Pick<Contended, 'mode' | 'manager' | 'arrivals'>,
  seed: number,
): Map<string, number[]> {
  const log = new ActivationLog();
  const activations = new FidelityStream(subjects, profiles, condition, new SeededRandom(seed));
  // Processes outside of Docker's group do not share its weight, so their CPU is subtracted.
  const { beside } = coresOf(subjects, profiles, meanDemandOf);
  simulateCluster({
    activations,
    cluster: {
      hosts: 1,
      cores: cpus().length,
      systemCores: beside,
      memoryMiB: Math.floor(totalmem() / MIB),
      userMemoryMiB: USER_MEMORY_MB,
    },
    mode: condition.mode,
    manager: condition.manager,
    quotaPolicy: 'target',
    weightPolicy: 'target',
    safeguard: condition.manager !== 'fixed',
    // As a hook is configured by default: caps are the host's size.
    decision: {
      controlShare: 0,
      cpuCap: (1000 * cpus().length) as Millicores,
      memoryCap: totalmem() as Bytes,
    },
    seed,
    recorder: log,
  });
  const durations = new Map<string, number[]>(subjects.map((subject) => [subject.name, []]));
  for (const activation of log.activations) {
    if (
      activation.activation < activations.warmUpActivations ||
      activation.outcome !== ClusterOutcome.success
    )
      continue;
    durations
      .get(subjects[activation.fn]!.name)!
      .push((activation.endedAt - activation.runAt) / 1000);
  }
  return durations;
}

class FidelityStream implements ActivationStream {
  readonly functions: readonly StreamedFunction[];
  readonly spanMicros: number;
  readonly expectedActivations: number;
  readonly warmUpActivations: number;
  readonly #subjects: readonly Subject[];
  readonly #profiles: ReadonlyMap<string, SoloProfile>;
  readonly #arrivals: Contended['arrivals'];
  readonly #index: ReadonlyMap<string, number>;
  readonly #random: Random;
  #next = 0;

  constructor(
    subjects: readonly Subject[],
    profiles: ReadonlyMap<string, SoloProfile>,
    condition: Pick<Contended, 'mode' | 'arrivals'>,
    random: Random,
  ) {
    this.#subjects = subjects;
    this.#profiles = profiles;
    this.#arrivals = [...condition.arrivals].sort((a, b) => a.atMs - b.atMs);
    this.#index = new Map(subjects.map((subject, i) => [subject.name, i]));
    this.#random = random;
    this.functions = subjects.map((subject) =>
      calledFunction(subject, profiles.get(subject.name)!),
    );
    this.warmUpActivations = subjects.length * CONTAINERS;
    this.expectedActivations = this.warmUpActivations + this.#arrivals.length;
    this.spanMicros = 1000 * (WARM_UP_MS + (this.#arrivals.at(-1)?.atMs ?? 0));
  }

  fill(block: ActivationBlock): number {
    let count = 0;
    while (count < block.capacity && this.#next < this.expectedActivations) {
      const index = this.#next++;
      const arrival =
        index < this.warmUpActivations
          ? undefined
          : this.#arrivals[index - this.warmUpActivations]!;
      const fn = arrival ? this.#index.get(arrival.action.name)! : index % this.#subjects.length;
      const profile = this.#profiles.get(this.#subjects[fn]!.name)!;
      // What one solo activation had beyond its line and what it waited belong together.
      const drawn = this.#random.below(profile.extraMs.length);
      const demand = arrival ? (arrival.payload as FidelityPayload).cpuMs : WARM_UP_CPU_MS;
      block.fn[count] = fn;
      block.arrival[count] = arrival ? Math.round(1000 * (WARM_UP_MS + arrival.atMs)) : 0;
      block.cpu[count] = Math.round(1000 * cpuOf(profile, demand, drawn));
      block.io[count] = Math.round(1000 * profile.ioMs[drawn]!);
      block.peak[count] = this.functions[fn]!.profile.memory.baseMiB * 1024 * 1024;
      block.payload[count] = 1;
      count++;
    }
    return count;
  }
}

function calledFunction(subject: Subject, profile: SoloProfile): StreamedFunction {
  return {
    name: `/guest/${subject.name}`,
    version: '0.0.1',
    kind: subject.body,
    userCpuMillicores: subject.cpus === undefined ? null : subject.cpus * 1000,
    memoryMiB: subject.memoryMb,
    timeoutMs: 60_000,
    maxContainers: CONTAINERS,
    profile: {
      parallelism: profile.parallelism,
      cpuMs: subject.cpuMs,
      ioMs: 0,
      memory: { baseMiB: 64, peakMiB: 64, growth: 0.5, retained: 0 },
      payload: { median: 1, sigma: 0, cpu: 1, io: 0, memory: 0 },
      initMs: 60,
      coldStartMs: 450,
    },
  };
}
