import {
  type ClusterOptions,
  ClusterOutcome,
  type SimulatedActivation,
  simulateCluster,
} from '../../simulator/engine/index.js';
import {
  openWorkload,
  quantile,
  scaled,
  scaleToLoad,
  type Workload,
  WorkloadStream,
} from '../../simulator/workload/index.js';
import { atLeast, type BenchRow, promise, row } from '../report.js';

const HOSTS = 30;
const CORES = 8;
const LOAD = 0.7;

/**
 * Highest working set of the hungriest activation, as a share of the user's limit; a third of the
 * functions each.
 */
const MEMORY_FACTORS = [1.05, 0.97, 0.7] as const;
/** What an activation leaves in the warm container, of what it took. */
const RETAINED = 0.5;

/** One byte per activation, so that a million activations can be compared. */
class Outcomes {
  readonly of: Uint8Array;
  kills = 0;
  harvestedShare = 0;

  constructor(activations: number) {
    this.of = new Uint8Array(activations);
  }

  record({ activation, outcome }: SimulatedActivation): void {
    this.of[activation] = outcome;
    if (outcome === ClusterOutcome.outOfMemory) this.kills++;
  }
}

/**
 * The Azure sample, its functions' working sets stretched up to, or beyond, what their users allow.
 */
function memoryHeavyWorkload(seed: number): Workload {
  const { workload } = openWorkload('azure-sample', { seed });
  const functions = workload.functions.map((fn, i) => {
    const { memory } = fn.profile;
    const factor =
      (MEMORY_FACTORS[i % MEMORY_FACTORS.length]! * fn.memoryMiB) / quantile(memory.peakMiB, 1);
    const peakMiB = scaled(memory.peakMiB, factor);
    return {
      ...fn,
      profile: { ...fn.profile, memory: { ...memory, peakMiB, retained: RETAINED } },
    };
  });
  return scaleToLoad({ ...workload, functions }, { load: LOAD, cores: HOSTS * CORES }).workload;
}

/**
 * The same activations with user limits, with the default memory policy and with the published one
 * (`faasrm`). A kill counts against Gleaner if the same activation survived with its user limits.
 */
export function oomSimulated(options: {
  readonly activations: number;
  readonly seed: number;
  readonly log: (line: string) => void;
}): BenchRow[] {
  const { activations, seed, log } = options;
  const workload = memoryHeavyWorkload(seed);
  const run = (name: string, extra: Partial<ClusterOptions>): Outcomes => {
    const outcomes = new Outcomes(activations);
    const begun = performance.now();
    const { harvest } = simulateCluster({
      activations: new WorkloadStream(workload, { seed, activations }),
      cluster: { hosts: HOSTS, cores: CORES },
      mode: 'quota',
      seed,
      recorder: outcomes,
      ...extra,
    });
    const seconds = ((performance.now() - begun) / 1000).toFixed(0);
    log(
      `${name}: ${outcomes.kills} of ${activations} killed, ` +
        `${harvest.trips} trips of the safeguard, ${seconds} s`,
    );
    outcomes.harvestedShare = harvest.harvestedShare;
    return outcomes;
  };
  const users = run('user limits', { manager: 'fixed' });
  const managed = { manager: 'greedy', quotaPolicy: 'smallest-in-range' } as const;
  const guarantee = run('guarantee', managed);
  const faasrm = run('faasrm', { ...managed, decision: { memoryPolicy: 'faasrm' } });
  const added = (arm: Outcomes): number =>
    arm.of.reduce(
      (sum, outcome, activation) =>
        sum + Number(outcome === ClusterOutcome.outOfMemory && users.of[activation] !== outcome),
      0,
    );
  const killed = (arm: Outcomes): string =>
    `${arm.kills} killed in all, ${users.kills} under the users' limits`;
  return [
    promise('oom.simulated.guarantee', added(guarantee), `of ${activations}`, {
      note: killed(guarantee),
    }),
    row('oom.simulated.faasrm', added(faasrm), `of ${activations}`, {
      note: `opt-in; ${killed(faasrm)}`,
    }),
    atLeast(
      'oom.simulated.managed',
      Math.min(guarantee.harvestedShare, faasrm.harvestedShare),
      0.01,
      'of activations harvested',
      'limits that are never lowered kill nothing',
    ),
    atLeast(
      'oom.simulated.hungry',
      users.kills,
      1,
      'kills under user limits',
      'no activation comes near its limit',
    ),
  ];
}
