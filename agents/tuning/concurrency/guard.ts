import { z } from 'zod';
import { isAllowed } from './limits.js';
import type { Sample } from './sample.js';
import type { Hold, LimitRange } from './settings.js';

interface Tally {
  readonly activations: number;
  readonly failures: number;
  readonly oomKills: number;
}

/** A limit that did harm, with its figures; it and all above are not tried again. */
export interface UnsafeLimit extends Tally {
  readonly limit: number;
  /** What was seen at the user's own limit until then. */
  readonly user: Tally & { readonly limit: number };
}

export interface LimitGuardState {
  /** By limit; limits below the user's are never judged, but may be gone back to. */
  readonly tallies: Readonly<Record<string, Tally>>;
  /** The lowest that did harm; null: none did. */
  readonly unsafeLimit: UnsafeLimit | null;
  /** Lowered from `from`, whose containers may still fail until then. Not stored. */
  readonly lowered: { readonly from: number; readonly until: number } | null;
  /** Limit in force at the last sample; null before the first. */
  readonly last: number | null;
}

export interface GuardView {
  readonly sample: Sample;
  readonly allowed: LimitRange;
  /** The limit that the action's user set. */
  readonly user: number;
}

export interface GuardVerdict {
  readonly state: LimitGuardState;
  /** Found by this very sample; null: nothing new. */
  readonly found: UnsafeLimit | null;
  readonly allowed: LimitRange;
  /** The limit to return to at once, as the current one causes harm; null: none. */
  readonly back: number | null;
}

/** A chance below this is no chance: a limit is judged at each sample, so small. */
const SIGNIFICANCE = 0.001;
/** Activations from which older ones count half. */
const FORGET_AT = 10_000;
/** Limits that are remembered: a grid, and what others set in between. */
const LIMITS_MAX = 600;

const NOTHING: Tally = { activations: 0, failures: 0, oomKills: 0 };

const count = z.int().min(0);
const tally = { activations: count, failures: count, oomKills: count };
const tallySchema = z.strictObject(tally);
const limit = z.int().min(1);

/** What is kept of a guard. */
export const savedGuardSchema = z.strictObject({
  tallies: z.record(z.string().regex(/^[1-9]\d{0,8}$/), tallySchema),
  unsafeLimit: z
    .strictObject({ limit, ...tally, user: z.strictObject({ limit, ...tally }) })
    .nullable(),
});
export type SavedGuard = z.output<typeof savedGuardSchema>;

export const savedGuardOf = ({ tallies, unsafeLimit }: LimitGuardState): SavedGuard =>
  ({ tallies, unsafeLimit }) as SavedGuard;

export const limitGuardState = (kept: SavedGuard | null): LimitGuardState => ({
  tallies: kept?.tallies ?? {},
  unsafeLimit: kept?.unsafeLimit ?? null,
  lowered: null,
  last: null,
});

/**
 * A limit above the user's at which more containers were killed for memory, or more activations
 * failed, than at the user's is left at once for the highest harmless one; neither it nor one above
 * it is tried again. Pure.
 */
export function checkLimit(
  state: LimitGuardState,
  { sample, allowed, user }: GuardView,
  hold: Hold,
  now: number,
): GuardVerdict {
  const inForce = sample.limit;
  const { last } = state;
  const lowered =
    last !== null && inForce < last ? { from: last, until: now + hold.time } : state.lowered;
  const draining = lowered !== null && now < lowered.until ? lowered : null;
  // Containers of the limit before may still be at work: harm is laid to the higher one.
  const at = Math.max(inForce, draining?.from ?? 0);
  const tallies = sampled(state.tallies, at, sample, user);
  const judged = { ...state, tallies, lowered: draining, last: inForce };
  const found =
    at > user && !(state.unsafeLimit !== null && at >= state.unsafeLimit.limit)
      ? unsafeLimitAt(tallies, at, user, hold)
      : null;
  const unsafeLimit = found ?? state.unsafeLimit;
  // A limit that the user set is the user's: nothing of it is barred.
  const unsafeFrom =
    unsafeLimit !== null && unsafeLimit.limit > user ? unsafeLimit.limit : Number.POSITIVE_INFINITY;
  const range = { least: allowed.least, most: Math.min(allowed.most, unsafeFrom - 1) };
  const back = inForce >= unsafeFrom ? lastSafe(tallies, range, user, hold) : null;
  return { state: { ...judged, unsafeLimit }, found, allowed: range, back };
}

/** Why a limit is not tried, for people. */
export function unsafeLimitText({
  limit,
  activations,
  failures,
  oomKills,
  user,
}: UnsafeLimit): string {
  const seen = (one: Tally): string =>
    `${one.failures} of ${one.activations} activations failed, ${one.oomKills} OOM kills`;
  const here = seen({ activations, failures, oomKills });
  const there = `at the user's own ${user.limit} ${seen(user)}`;
  return `limit ${limit} and above are harmful: at ${limit} ${here}; ${there}`;
}

function sampled(
  tallies: LimitGuardState['tallies'],
  at: number,
  { activations, failures, oomKills }: Sample,
  user: number,
): LimitGuardState['tallies'] {
  const before = tallies[at] ?? NOTHING;
  const half = before.activations >= FORGET_AT ? 0.5 : 1;
  const after = {
    activations: Math.floor(half * before.activations) + activations,
    failures: Math.floor(half * before.failures) + failures,
    oomKills: Math.floor(half * before.oomKills) + oomKills,
  };
  const known = Object.keys(tallies);
  if (before !== NOTHING || known.length < LIMITS_MAX) return { ...tallies, [at]: after };
  const { [known.find((one) => Number(one) !== user)!]: _, ...kept } = tallies;
  return { ...kept, [at]: after };
}

/** Of a limit above the user's. */
function unsafeLimitAt(
  tallies: LimitGuardState['tallies'],
  at: number,
  user: number,
  hold: Hold,
): UnsafeLimit | null {
  const here = tallies[at] ?? NOTHING;
  const there = tallies[user] ?? NOTHING;
  // Assume that unseen activations at the user's limit succeed, so that exploration is not rewarded
  // for noise.
  const unseen = Math.max(0, hold.activations - there.activations);
  const more = (what: 'failures' | 'oomKills'): boolean =>
    isMore(here[what], here.activations, there[what], there.activations + unseen);
  const killed = here.oomKills > 0 && (there.oomKills === 0 || more('oomKills'));
  return killed || more('failures')
    ? { limit: at, ...here, user: { limit: user, ...there } }
    : null;
}

/**
 * Whether `k` of `n` against `k0` of `n0` is more than chance: of all k + k0, as many or more would
 * fall on these n with a chance of at most exp(-(k + k0) D(k / (k + k0) || n / (n + n0))) if both
 * were alike (Chernoff's bound of the binomial's tail).
 */
export function isMore(k: number, n: number, k0: number, n0: number): boolean {
  if (k <= 0 || n <= 0) return false;
  const all = k + k0;
  const expected = n / (n + n0);
  const share = k / all;
  if (share <= expected) return false;
  const relativeEntropy =
    share * Math.log(share / expected) +
    (share < 1 ? (1 - share) * Math.log((1 - share) / (1 - expected)) : 0);
  return Math.exp(-all * relativeEntropy) < SIGNIFICANCE;
}

/** The highest limit that was held long enough without harm; else the user's; else the nearest. */
function lastSafe(
  tallies: LimitGuardState['tallies'],
  range: LimitRange,
  user: number,
  hold: Hold,
): number | null {
  let best: number | null = null;
  for (const [text, { activations }] of Object.entries(tallies)) {
    const one = Number(text);
    if (one <= (best ?? 0) || !isAllowed(one, range) || activations < hold.activations) continue;
    if (one <= user || unsafeLimitAt(tallies, one, user, hold) === null) best = one;
  }
  if (best !== null) return best;
  return range.most < range.least ? null : Math.min(range.most, Math.max(range.least, user));
}
