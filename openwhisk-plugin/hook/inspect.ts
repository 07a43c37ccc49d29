import { worseThanNothing } from '../decision/index.js';
import type { FunctionRecord } from './functions.js';
import type { HookParts } from './hook-parts.js';
import type { Pipeline } from './pipeline.js';

/** One function as the CLI and the live view show it: millicores, bytes, ms; sums since the hook's start. */
export interface FunctionView {
  readonly name: string;
  readonly mode: string;
  readonly paused: boolean;
  readonly activations: number;
  readonly running: number;
  readonly containers: number;
  readonly cpuMode: 'quota' | 'weight';
  readonly userCpu: number;
  readonly userMemory: number;
  readonly userShares: number;
  /**
   * In force in its containers now (mean); of a function that does not run, what its newest activation was granted, and the user's
   * where nothing is enforced. 0 = no limit.
   */
  readonly cpu: number;
  readonly memory: number;
  readonly shares: number;
  readonly harvestedCpuSeconds: number;
  /** Memory kept free below the user's limits while activations ran (policy `faasrm`), MiB x s. */
  readonly harvestedMebibyteSeconds: number;
  readonly acceleratedCpuSeconds: number;
  /** An estimate. */
  readonly savedSeconds: number;
  /** Lent to it above its user limits now. */
  readonly borrowedMemory: number;
  readonly p99: number | null;
  readonly slo: number | null;
  /** Mean duration against the control arm's; null while unknown. */
  readonly slowdown: number | null;
  /** Alarm: slower than its own control arm by more than 5 %, beyond chance (design §3). */
  readonly worseThanNothing: boolean;
  /** Why the newest range is what it is, or what tripped. */
  readonly safeguard: string;
  readonly target: { author: string; fresh: boolean; cpu: number | null; memory: number | null } | null;
  readonly ooms: { harvest: number; user: number };
  readonly concurrent: boolean;
}

/** The host's line of `gleaner status`. */
export interface HostView {
  readonly host: string;
  readonly boot: string;
  readonly version: string;
  readonly platform: string;
  readonly mode: string;
  readonly killed: boolean;
  readonly killedBy: readonly string[];
  readonly engineAnswers: boolean;
  readonly cpu: number;
  readonly memory: number;
  readonly poolCpu: number;
  readonly poolMemory: number;
  readonly activations: number;
  readonly running: number;
  readonly containers: number;
  /** The same alarm over all functions together. */
  readonly worseThanNothing: boolean;
}

const finite = (value: number): number | null => (Number.isFinite(value) ? value : null);

export function functionView(fn: FunctionRecord, parts: HookParts): FunctionView | null {
  const { revision } = fn;
  if (revision === null) return null;
  const { state } = revision;
  const { decider, containers, clock } = parts;
  let shares = 0;
  let quota = 0;
  let memory = 0;
  let count = 0;
  let borrowedMemory = 0;
  for (const container of containers.values()) {
    if (container.revision?.fn !== fn) continue;
    const { expected } = container.handle;
    count++;
    shares += expected.shares;
    quota += expected.quota;
    memory += expected.memory;
    borrowedMemory += container.state.memoryLoan + container.state.memory.borrowed;
  }
  const newest = fn.explanations.latest()[0];
  const mean = (sum: number, otherwise: number): number => (count > 0 ? sum / count : otherwise);
  const { target } = fn;
  const tripped = newest?.trippedCpu || newest?.trippedMemory;
  return {
    name: fn.action,
    mode: fn.mode,
    paused: fn.paused,
    activations: fn.activations,
    running: fn.running,
    containers: fn.containers,
    cpuMode: fn.cpuMode,
    userCpu: fn.userCpu,
    userMemory: state.userMemory,
    userShares: state.userShares,
    cpu: fn.running > 0 ? mean(quota, 0) : fn.enforced ? (newest?.cpu.granted ?? fn.userCpu) : fn.userCpu,
    memory: mean(memory, newest?.memory.granted ?? state.userMemory),
    shares: mean(shares, newest?.shares ?? state.userShares),
    harvestedCpuSeconds: state.harvested / 1000,
    harvestedMebibyteSeconds: state.harvestedMemory / 1000,
    acceleratedCpuSeconds: state.accelerated / 1000,
    savedSeconds: state.saved / 1000,
    borrowedMemory,
    p99: fn.latency.count > 0 ? fn.latency.quantile(0.99) : null,
    slo: finite(decider.slo(state)),
    slowdown: finite(state.slowdown),
    worseThanNothing: worseThanNothing(state),
    safeguard: tripped ? 'tripped' : (newest?.cpu.rangeReason ?? ''),
    target:
      target.author === ''
        ? null
        : {
            author: target.author,
            fresh: target.fresh(clock.monotonic()),
            cpu: finite(target.cpu),
            memory: finite(target.memory),
          },
    ooms: { harvest: state.oomHarvest, user: state.oomUser },
    concurrent: revision.concurrent,
  };
}

/** Containers as they are, for `inspect`. */
export function containerViews(parts: HookParts, most: number): object[] {
  return [...parts.containers.values()].slice(0, most).map((container) => ({
    id: container.info.id,
    name: container.info.name,
    address: container.info.address,
    function: container.revision?.fn.action ?? null,
    version: container.revision?.version ?? null,
    phase: container.phase,
    running: container.running,
    activations: container.activations,
    user: container.info.user,
    limits: { ...container.handle.expected },
    loan: container.state.memoryLoan,
  }));
}

export function figures(parts: HookParts, pipeline: Pipeline): object {
  return { ...parts.counters, lagMicros: pipeline.lags.quantiles() };
}
