import { DEFAULT_CLUSTER, type SimulatedActivation } from '../../simulator/engine/index.js';

/** An idle container is paused and then removed after this time, us. */
const UNUSED_LIFE = 1000 * (DEFAULT_CLUSTER.pauseGraceMs + DEFAULT_CLUSTER.idleMs);

interface Kept {
  readonly fn: number;
  readonly memory: number;
  /** Busy until then, idle from then on, us. */
  freeAt: number;
}

export interface ReplayRequest {
  /** Of a run: where and how long each activation ran. */
  readonly activations: readonly SimulatedActivation[];
  /** By function, MiB. */
  readonly memory: readonly number[];
  readonly userMemoryMiB: number;
  /** Activations before are not counted, us. */
  readonly from: number;
  /** `furthest`: the container whose function comes again last goes first. */
  readonly evict: 'furthest' | 'oldest';
}

/**
 * Cold starts if each host saw the future and evicted the container whose next use is furthest. An
 * offline heuristic, no bound: it is optimal for containers of one size (Belady), but of different
 * sizes it may evict several where another one alone is large enough. Idle containers are removed
 * as OpenWhisk does; placement and run times stay those of the run.
 */
export function replayedColdStarts(request: ReplayRequest): number {
  const byHost = new Map<number, SimulatedActivation[]>();
  for (const activation of request.activations)
    if (activation.host >= 0 && activation.placedAt >= 0)
      byHost.set(activation.host, [...(byHost.get(activation.host) ?? []), activation]);
  let cold = 0;
  for (const activations of byHost.values()) cold += onHost(activations, request);
  return cold;
}

function onHost(
  activations: SimulatedActivation[],
  { memory, userMemoryMiB, from, evict }: ReplayRequest,
): number {
  activations.sort((a, b) => a.placedAt - b.placedAt || a.activation - b.activation);
  /** By function, when its activations still come, the next one last. */
  const coming = new Map<number, number[]>();
  for (let i = activations.length - 1; i >= 0; i--) {
    const { fn, placedAt } = activations[i]!;
    const times = coming.get(fn);
    if (times === undefined) coming.set(fn, [placedAt]);
    else times.push(placedAt);
  }
  let kept: Kept[] = [];
  let cold = 0;
  for (const { fn, placedAt: now, endedAt, arrivedAt } of activations) {
    coming.get(fn)!.pop();
    kept = kept.filter(({ freeAt }) => freeAt + UNUSED_LIFE >= now);
    const warm = kept.find((one) => one.fn === fn && one.freeAt <= now);
    if (warm !== undefined) {
      warm.freeAt = endedAt;
      continue;
    }
    if (arrivedAt >= from) cold++;
    let used = memory[fn]!;
    for (const one of kept) used += one.memory;
    while (used > userMemoryMiB) {
      const victim = victimOf(kept, coming, now, evict);
      if (victim < 0) break;
      used -= kept[victim]!.memory;
      kept.splice(victim, 1);
    }
    kept.push({ fn, memory: memory[fn]!, freeAt: endedAt });
  }
  return cold;
}

function victimOf(
  kept: readonly Kept[],
  coming: ReadonlyMap<number, readonly number[]>,
  now: number,
  evict: ReplayRequest['evict'],
): number {
  let victim = -1;
  let most = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < kept.length; i++) {
    const { fn, freeAt } = kept[i]!;
    if (freeAt > now) continue;
    const value =
      evict === 'oldest' ? -freeAt : (coming.get(fn)!.at(-1) ?? Number.POSITIVE_INFINITY);
    if (value <= most) continue;
    victim = i;
    most = value;
  }
  return victim;
}
