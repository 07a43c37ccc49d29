import type { Random } from '../../config/index.js';
import { mean } from '../../experiments/statistics.js';
import type { Invoker } from '../../simulator/invoker-emulator/index.js';
import { containersBusyMillis, ownBusyMillis } from '../benefit/host-cpu.js';
import { actionOf, type Subject } from '../benefit/load.js';
import { drawPayload } from './subjects.js';

/** Profile of a function from solo runs in a real container; the simulator's only input. */
export interface SoloProfile {
  /**
   * Cores it keeps busy while it computes: 1, or more where its duration grows by less than its CPU
   * time does.
   */
  readonly parallelism: number;
  /** CPU time of its container for each ms that the payload asks for. */
  readonly cpuPerDemand: number;
  /** CPU time of each solo activation beyond that (the proxy, the threads' start), ms. */
  readonly extraMs: readonly number[];
  /** Time of each solo activation in which it used no core, ms. */
  readonly ioMs: readonly number[];
  /**
   * CPU time that one activation costs outside of its container, ms: the invoker, the tap, the
   * hook.
   */
  readonly besideMs: number;
}

/**
 * One solo activation, ms: what its payload asked for, what its container used, how long its `/run`
 * took.
 */
export interface SoloActivation {
  readonly demandMs: number;
  readonly cpuMs: number;
  readonly runMs: number;
}

/**
 * Above this many busy cores a function is taken to be parallel; below, the excess is the proxy's
 * own second thread.
 */
const PARALLEL = 1.2;

/** Activates a function alone, one run after another, in a container without a quota. */
export async function measureSolo(
  invoker: Invoker,
  subject: Subject,
  activations: number,
  random: Random,
): Promise<SoloProfile> {
  const action = actionOf(subject);
  const solo: SoloActivation[] = [];
  // The first activations compile the action's code: contended runs meet warm containers.
  for (let i = 0; i < 3; i++) await invoker.invoke(action, drawPayload(subject, random));
  const own = ownBusyMillis();
  for (let i = 0; i < activations; i++) {
    const payload = drawPayload(subject, random);
    const before = containersBusyMillis();
    const result = await invoker.invoke(action, payload);
    if (!result.ok)
      throw new Error(`${subject.name} alone ended as ${result.kind}: ${String(result.result)}`);
    solo.push({
      demandMs: payload.cpuMs,
      cpuMs: containersBusyMillis() - before,
      runMs: result.runMs,
    });
  }
  return profileOf(solo, Math.max(0, (ownBusyMillis() - own) / activations));
}

/**
 * CPU time and duration as straight lines over what was asked for; what an activation has beyond
 * its line stays its own.
 */
export function profileOf(solo: readonly SoloActivation[], besideMs: number): SoloProfile {
  const demand = solo.map((activation) => activation.demandMs);
  const cpuPerDemand = slope(
    demand,
    solo.map((activation) => activation.cpuMs),
  );
  const busy =
    cpuPerDemand /
    slope(
      demand,
      solo.map((activation) => activation.runMs),
    );
  const parallelism = busy > PARALLEL ? busy : 1;
  return {
    parallelism,
    cpuPerDemand,
    extraMs: solo.map((activation) => activation.cpuMs - cpuPerDemand * activation.demandMs),
    ioMs: solo.map((activation) => Math.max(0, activation.runMs - activation.cpuMs / parallelism)),
    besideMs,
  };
}

/** Of the line of least squares. */
function slope(x: readonly number[], y: readonly number[]): number {
  const [meanX, meanY] = [mean(x), mean(y)];
  let both = 0;
  let square = 0;
  for (let i = 0; i < x.length; i++) {
    both += (x[i]! - meanX) * (y[i]! - meanY);
    square += (x[i]! - meanX) ** 2;
  }
  return both / square;
}

/**
 * CPU time of an activation that asks for `demandMs`, as solo activation number `drawn` would have
 * needed it, ms.
 */
export function cpuOf(profile: SoloProfile, demandMs: number, drawn: number): number {
  return Math.max(0.1, profile.cpuPerDemand * demandMs + profile.extraMs[drawn]!);
}

/** Cores that functions called at their rates keep busy, and those beside them. */
export function coresOf(
  subjects: readonly Subject[],
  profiles: ReadonlyMap<string, SoloProfile>,
  demandOf: (subject: Subject) => number,
): { readonly functions: number; readonly beside: number } {
  let functions = 0;
  let beside = 0;
  for (const subject of subjects) {
    const profile = profiles.get(subject.name)!;
    functions +=
      (subject.rate * (profile.cpuPerDemand * demandOf(subject) + mean(profile.extraMs))) / 1000;
    beside += (subject.rate * profile.besideMs) / 1000;
  }
  return { functions, beside };
}
