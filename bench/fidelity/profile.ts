import type { Random } from '../../config/index.js';
import type { Invoker } from '../../simulator/index.js';
import { median, quantile } from '../statistics.js';
import { containersBusyMillis, hostBusyMillis } from '../worth/host-cpu.js';
import { actionOf, type Subject } from '../worth/load.js';
import { drawPayload } from './subjects.js';

/** What solo runs in a real container say of a function; all that the simulator is told of it. */
export interface SoloProfile {
  /** Cores it keeps busy while it computes: 1, or more where it used more than it lasted. */
  readonly parallelism: number;
  /** CPU time of its container for each call, ms. */
  readonly cpuMs: readonly number[];
  /** Time of each call in which it used no core, ms. */
  readonly ioMs: readonly number[];
  /** CPU time that one call costs the host outside of the container (invoker, engine, kernel, hook, tap), ms. */
  readonly overheadMs: number;
}

/** Above this many busy cores a function is taken to be parallel; below, the excess is the proxy's own second thread. */
const PARALLEL = 1.2;

/** Calls a function alone, one after another, in a container without a quota. */
export async function measureSolo(
  invoker: Invoker,
  subject: Subject,
  calls: number,
  random: Random,
): Promise<SoloProfile> {
  const action = actionOf(subject);
  const runMs: number[] = [];
  const cpuMs: number[] = [];
  let overhead = 0;
  // The first calls compile the action's code: contended runs meet warm containers.
  for (let i = -3; i < calls; i++) {
    const payload = drawPayload(subject, random);
    const host = hostBusyMillis();
    const own = containersBusyMillis();
    const result = await invoker.invoke(action, payload);
    if (!result.ok) throw new Error(`${subject.name} alone ended as ${result.kind}`);
    const used = containersBusyMillis() - own;
    if (i < 0) continue;
    runMs.push(result.runMs);
    cpuMs.push(used);
    overhead += hostBusyMillis() - host - used;
  }
  const busy = median(runMs.map((run, i) => cpuMs[i]! / run));
  const parallelism =
    busy > PARALLEL
      ? quantile(
          runMs.map((run, i) => cpuMs[i]! / run),
          0.9,
        )
      : 1;
  return {
    parallelism,
    cpuMs,
    ioMs: runMs.map((run, i) => Math.max(0, run - cpuMs[i]! / parallelism)),
    overheadMs: Math.max(0, overhead / calls),
  };
}
