import type { HostUserMemory, SizeAdvice } from '../../broker/services/index.js';
import { type Bytes, MIB } from '../../config/index.js';
import type { PeakExcess } from '../../rules/index.js';
import { type OpenChange, timeSince } from './open-changes.js';
import type { LimitRequest } from './plan.js';
import { memoryMarket, pricedSize } from './priced-sizes.js';
import { coldStartRate, keepAliveTime, type WarmPoolUse } from './warm-pool.js';

/** When a size is written (`openwhisk.rightSizing`). Times in ms. */
export interface SizingRules {
  /** `margin`: recent peak and a margin; `price`: the least cost at the price of memory. */
  readonly rule: 'margin' | 'price';
  readonly leastActivations: number;
  readonly leastSeen: number;
  readonly canaries: number;
  readonly watchTime: number;
  readonly watchActivations: number;
  /** Null: the benefit is not checked. */
  readonly payBack: number | null;
  readonly killedSizeHoldTime: number;
  /** Least time from a change of an action to one that makes it smaller. */
  readonly holdTime: number;
}

type SizeVerdict =
  | 'ready'
  /** More than its current size, up to its user's: written at once. */
  | 'raise'
  | 'too few activations'
  | 'too short a time'
  | 'cost exceeds benefit'
  | 'changed recently'
  | 'killed at this size'
  | 'its own limit is too small'
  /** Another size is advised, and bounds or a range leave only the one that it has. */
  | 'out of bounds';

export interface SizeRecommendation {
  readonly function: string;
  readonly from: Bytes;
  readonly to: Bytes;
  readonly evidence: SizeAdvice;
  /** Chance that the next activation needs more than any before, if all are alike. */
  readonly uncertainty: number;
  /** Room that its containers leave to others. */
  readonly frees: Bytes;
  /** Cold starts once, of the new revision: its containers are not used again. */
  readonly costs: number;
  /** Cold starts per hour that all changes together save; null if the hosts' memory is unknown. */
  readonly saves: number | null;
  readonly verdict: SizeVerdict;
}

export interface SizingInputs {
  readonly advice: readonly SizeAdvice[];
  readonly hosts: readonly HostUserMemory[];
  readonly peaks: PeakExcess;
  readonly open: ReadonlyMap<string, OpenChange>;
  readonly killed: ReadonlyMap<string, { readonly memory: number; readonly at: number }>;
  readonly rules: SizingRules;
  /** Wall clock, ms. */
  readonly now: number;
  /** The nearest size that may be written; absent: any. */
  readonly writable?: (fn: string, size: Bytes) => Bytes;
}

const HOUR_MS = 3_600_000;
/** A size of ours is raised if a recent peak leaves less than this share of itself. */
const RAISED_BELOW = 0.1;
/** A watch with too few activations delays others for at most this many times its length. */
const MAX_WATCHES = 10;

/**
 * The recommended memory of every function, those that free most first. Cold starts are estimated
 * for all changes together; each change gets its share by the memory that it frees.
 */
export function recommendSizes(inputs: SizingInputs): SizeRecommendation[] {
  const { advice, hosts, peaks, open, killed, rules, now, writable = (_, size) => size } = inputs;
  const market = memoryMarket(advice, hosts);
  const isPriced = rules.rule === 'price';
  const warmPoolMemory = hosts.reduce((sum, { userMemory }) => sum + userMemory, 0);
  const saved = warmPoolMemory > 0 ? savedPerHour(advice, warmPoolMemory) : null;
  const changes = advice.flatMap((evidence) => {
    const { function: fn, limit, size, containers, killedAt } = evidence;
    const original = open.get(fn)?.limits.get('memory')?.original ?? null;
    const ceiling = original === null ? limit : original * MIB;
    // Above the user's size only if that itself was too small; agents may remember a larger one.
    const isOwnTooSmall = killedAt !== null && killedAt >= ceiling;
    const advised = (
      isPriced && !isOwnTooSmall
        ? pricedSize(evidence, ceiling as Bytes, market, peaks)
        : isOwnTooSmall
          ? size
          : Math.min(size, ceiling)
    ) as Bytes;
    const to = writable(fn, advised);
    const frees = (Math.max(0, limit - to) * containers) as Bytes;
    const within =
      !isPriced &&
      to > limit &&
      evidence.recent * (1 + RAISED_BELOW) <= limit &&
      (killedAt ?? 0) < limit;
    return advised === limit || within ? [] : [{ evidence, original, to, frees }];
  });
  const allFreed = changes.reduce((sum, { frees }) => sum + frees, 0);
  return changes
    .map(({ evidence, original, to, frees }): SizeRecommendation => {
      const { function: fn, limit, activations, containers } = evidence;
      const saves = saved === null ? null : allFreed > 0 ? (saved * frees) / allFreed : 0;
      const killedSize = killed.get(fn);
      // Not by timeSince: to hold this one size for too long is safe.
      const isBelowKilledSize =
        killedSize !== undefined &&
        now - killedSize.at < rules.killedSizeHoldTime &&
        to <= killedSize.memory * MIB;
      const one = {
        function: fn,
        from: limit,
        to,
        evidence,
        uncertainty: 1 / (activations + 1),
        frees,
        costs: containers,
        saves,
      };
      const change = open.get(fn);
      const held = change !== undefined && timeSince(change.changedAt, now) < rules.holdTime;
      return { ...one, verdict: verdictOf(one, { original, isBelowKilledSize, held }, rules) };
    })
    .sort((a, b) => b.frees - a.frees || (a.function < b.function ? -1 : 1));
}

function verdictOf(
  { from, to, evidence, costs, saves }: Omit<SizeRecommendation, 'verdict'>,
  {
    original,
    isBelowKilledSize,
    held,
  }: {
    readonly original: number | null;
    readonly isBelowKilledSize: boolean;
    readonly held: boolean;
  },
  rules: SizingRules,
): SizeVerdict {
  if (to === from) return 'out of bounds';
  if (to > from)
    return original !== null && from < original * MIB ? 'raise' : 'its own limit is too small';
  if (isBelowKilledSize || (evidence.killedAt !== null && to <= evidence.killedAt))
    return 'killed at this size';
  if (evidence.activations < rules.leastActivations) return 'too few activations';
  if (evidence.seen < rules.leastSeen) return 'too short a time';
  if (
    rules.rule === 'margin' &&
    rules.payBack !== null &&
    saves !== null &&
    saves * (rules.payBack / HOUR_MS) <= costs
  )
    return 'cost exceeds benefit';
  return held ? 'changed recently' : 'ready';
}

/**
 * Cold starts per hour that all advised sizes save, by {@link keepAliveTime}, scaled to those that
 * were seen if these are fewer: activations come in bursts, which the estimate does not know.
 */
export function savedPerHour(advice: readonly SizeAdvice[], warmPoolMemory: number): number {
  const uses = (sizeOf: (one: SizeAdvice) => number): WarmPoolUse[] =>
    advice.map((one) => ({ rate: one.rate, size: sizeOf(one), busy: one.busy / 1000 }));
  const now = uses(({ limit }) => limit);
  const then = uses(({ limit, size }) => Math.min(limit, size));
  const before = coldStartRate(now, keepAliveTime(now, warmPoolMemory));
  const after = coldStartRate(then, keepAliveTime(then, warmPoolMemory));
  if (!(before > after)) return 0;
  const seen = advice.reduce(
    (sum, one) => sum + (one.seen > 0 ? one.coldStarts / (one.seen / 1000) : 0),
    0,
  );
  return 3600 * (before - after) * Math.min(1, seen / before);
}

/** Only these recommendations are written. */
export const isDue = ({ verdict }: Pick<SizeRecommendation, 'verdict'>): boolean =>
  verdict === 'ready' || verdict === 'raise';

/** The next step of the rollout. */
export interface Wave {
  readonly killed: readonly { readonly change: OpenChange; readonly size: number }[];
  readonly kept: readonly string[];
  readonly requests: readonly LimitRequest[];
}

/**
 * A few are changed and watched first; each one kept allows one more, and an OOM kill starts again
 * with a few. Pure: its state is in the journal. `keptBefore`: good since the last OOM kill.
 */
export function nextWave(
  recommendations: readonly SizeRecommendation[],
  { advice, open, rules, now }: SizingInputs,
  keptBefore: number,
): Wave {
  const adviceOf = new Map(advice.map((one) => [one.function, one]));
  const killed: { change: OpenChange; size: number }[] = [];
  const kept: string[] = [];
  let watched = 0;
  const busy = new Set<string>();
  for (const change of open.values()) {
    const memory = change.limits.get('memory');
    if (memory === undefined || memory.why !== 'right-size') continue;
    const seen = adviceOf.get(change.function);
    const setByGleaner = memory.newest;
    if (
      seen !== undefined &&
      seen.killedAt === setByGleaner * MIB &&
      setByGleaner < (memory.original ?? 0)
    ) {
      killed.push({ change, size: setByGleaner });
      busy.add(change.function);
      continue;
    }
    if (change.kept) continue;
    const since = timeSince(memory.at, now);
    const activations =
      seen !== undefined && seen.limit === setByGleaner * MIB ? seen.activationsAtLimit : 0;
    if (since >= rules.watchTime && activations >= rules.watchActivations)
      kept.push(change.function);
    else {
      busy.add(change.function);
      if (since < MAX_WATCHES * rules.watchTime) watched++;
    }
  }
  const requests: LimitRequest[] = [];
  // After an OOM kill no action is made smaller in the same round.
  let slots = killed.length > 0 ? 0 : rules.canaries + keptBefore + kept.length - watched;
  for (const { function: fn, to, verdict } of recommendations) {
    const raises = verdict === 'raise';
    if (!raises && (verdict !== 'ready' || busy.has(fn) || slots <= 0)) continue;
    if (killed.some(({ change }) => change.function === fn)) continue;
    if (!raises) slots--;
    requests.push({ function: fn, memory: to, why: 'right-size' });
  }
  return { killed, kept, requests };
}
