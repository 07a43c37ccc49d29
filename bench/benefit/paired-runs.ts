import { cpus } from 'node:os';
import { median } from '../../experiments/statistics.js';
import {
  type ActivationRecord,
  type Arrival,
  type Invoker,
  playWorkload,
} from '../../simulator/invoker-emulator/index.js';
import type { GleanerProcess } from './gleaner-process.js';
import { containersBusyMillis, hostBusyMillis } from './host-cpu.js';
import { actionOf, type Subject } from './load.js';
import type { PairedTally } from './paired-tally.js';

/** One run's records by function name. */
type Records = Map<string, ActivationRecord[]>;

export interface Round {
  readonly off: Records;
  readonly on: Records;
  /** A third run: without writes, which shows the noise, or with writes and another setting. */
  readonly again: Records;
}

function byFunction(records: readonly ActivationRecord[]): Records {
  const groups: Records = new Map();
  for (const record of records) {
    const name = record.action.slice('/guest/'.length);
    const group = groups.get(name);
    if (group) group.push(record);
    else groups.set(name, [record]);
  }
  return groups;
}

/**
 * Makes `each` warm containers of every function by concurrent activations with `work`. Gleaner
 * learns from these activations too.
 */
export async function warmUp(
  invoker: Invoker,
  subjects: readonly Subject[],
  each: number,
  work: Readonly<Record<string, number>> = { cpuMs: 300 },
): Promise<void> {
  for (const subject of subjects) {
    const action = actionOf(subject);
    const payload = { ...subject.payload, ...work };
    await Promise.all(Array.from({ length: each }, () => invoker.invoke(action, payload)));
  }
}

/** A function called alone on the idle host. */
export interface Solo {
  /** Median from activation to answer, ms: what slowdown is measured against. */
  readonly responseMs: number;
  /**
   * CPU time of its container for one activation, ms, as the kernel counts it: the function's own
   * and its proxy's.
   */
  readonly cpuMs: number;
}

export async function soloRuns(
  invoker: Invoker,
  subjects: readonly Subject[],
  millis = 2000,
  busyMillis = containersBusyMillis,
): Promise<Map<string, Solo>> {
  const solo = new Map<string, Solo>();
  for (const subject of subjects) {
    const responses: number[] = [];
    const count = Math.min(60, Math.max(3, Math.round(millis / subject.cpuMs)));
    const busy = busyMillis();
    for (let i = 0; i < count; i++) {
      const begun = performance.now();
      await invoker.invoke(actionOf(subject), subject.payload);
      responses.push(performance.now() - begun);
    }
    const cpuMs = (busyMillis() - busy) / count;
    solo.set(subject.name, { responseMs: median(responses), cpuMs });
  }
  return solo;
}

const PAIRS: readonly (readonly (keyof Round)[])[] = [
  ['off', 'on'],
  ['on', 'off'],
];
/** In six rounds each arm is twice first, second and last, against drift of the machine. */
const TRIPLES: typeof PAIRS = [
  ['off', 'on', 'again'],
  ['on', 'again', 'off'],
  ['again', 'off', 'on'],
  ['off', 'again', 'on'],
  ['on', 'off', 'again'],
  ['again', 'on', 'off'],
];

/** Runs off and on, and a third time if requested, with the same arrivals in a varying order. */
export async function pairedRounds(options: {
  readonly invoker: Invoker;
  readonly gleaner: GleanerProcess;
  readonly rounds: number;
  /** Number of the first, where others were played before; from 0. */
  readonly first?: number;
  /** Of every run of a round. */
  readonly arrivals: (round: number) => readonly Arrival[];
  readonly again: boolean;
  /** Before each run; true: with writes. Default: in `on`. */
  readonly prepare?: (arm: keyof Round) => Promise<boolean>;
  readonly beside?: (arm: keyof Round, round: number) => Promise<void>;
  /** `others`: share of the host that neither activations nor nothing used in the run. */
  readonly after?: (
    arm: keyof Round,
    records: readonly ActivationRecord[],
    others: number,
  ) => Promise<void>;
  /** CPU time so far of what functions ran in, ms; default: all of Docker's containers. */
  readonly busyMillis?: () => number;
  /** Called for every run; holds the preconditions. */
  readonly tally: PairedTally;
  readonly log: (line: string) => void;
}): Promise<Round[]> {
  const { invoker, gleaner, tally, log, busyMillis = containersBusyMillis } = options;
  const rounds: Round[] = [];
  const play = async (arm: keyof Round, round: number): Promise<Records> => {
    const on = (await options.prepare?.(arm)) ?? arm === 'on';
    await gleaner.setWrites(on);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const arrivals = options.arrivals(round);
    const before = await gleaner.status();
    const busy = hostBusyMillis();
    const own = busyMillis();
    const begun = performance.now();
    const [records] = await Promise.all([
      playWorkload(invoker, arrivals),
      options.beside?.(arm, round),
    ]);
    const failed = records
      .filter((record) => !record.ok)
      .map((record) => `${record.kind}: ${String(record.result).slice(0, 60)}`);
    const span = (performance.now() - begun) * cpus().length;
    const used = (hostBusyMillis() - busy) / span;
    const functions = (busyMillis() - own) / span;
    const cold = records.filter((record) => record.cold).length;
    log(
      [
        `round ${round + 1}: ${arm}, writes ${on ? 'on' : 'off'}: ${records.length} activations`,
        `${cold} cold`,
        `host ${(used * 100).toFixed(0)} % busy (functions ${(functions * 100).toFixed(0)} %)`,
        `${failed.length} failed ${failed[0] ?? ''}`,
      ].join(', '),
    );
    const after = await gleaner.status();
    tally.note({
      on,
      activations: records.length,
      failed: failed.length,
      written: after.counters.limitsWritten - before.counters.limitsWritten,
      functions,
      others: used - functions,
    });
    await options.after?.(arm, records, used - functions);
    return byFunction(records);
  };
  const orders = options.again ? TRIPLES : PAIRS;
  const { first = 0 } = options;
  for (let round = first; round < first + options.rounds; round++) {
    const arms: Record<keyof Round, Records> = { off: new Map(), on: new Map(), again: new Map() };
    for (const arm of orders[round % orders.length]!) arms[arm] = await play(arm, round);
    rounds.push(arms);
  }
  await gleaner.setWrites(false);
  return rounds;
}

/** Durations of `/run` of one function in one arm over all rounds, ms. */
export function durations(rounds: readonly Round[], arm: keyof Round, name: string): number[] {
  return rounds.flatMap((round) => (round[arm].get(name) ?? []).map((record) => record.runMs));
}
