import type { Bytes } from '../../config/index.js';
import type { Run } from './container-state.js';
import type { Grant } from './grant.js';
import type { ActivationPolicy, PolicyContext } from './policies/activation-policy.js';
import { shortRunQuota } from './quota.js';
import { cpuRange, memoryRange, userRange } from './safeguard.js';
import { observeWeight, ownWeight } from './weights.js';

/** Share of a weight within which it is left alone. */
const DEAD_BAND = 0.05;

/** Fills `run.cpu` in quota mode: range, then choice, then the rules that only raise. */
export function chooseCpu(
  run: Run,
  policy: ActivationPolicy,
  context: PolicyContext,
  now: number,
): void {
  const grant = run.cpu;
  const settings = context.settings;
  if (run.control) userRange(grant, 'control');
  else cpuRange(grant, run.fn, settings, now);
  if (policy.predicts === true && settings.midRun) widen(grant, settings.cpuFloor, settings.cpuCap);
  chooseInRange(run, grant, policy, context);
  if (grant.granted >= grant.user || settings.preset !== 'default') return;
  const fn = run.fn;
  const least = shortRunQuota(
    fn.p95CpuTime,
    fn.duration.mean,
    grant.user,
    run.container.user.periodMicros,
  );
  if (least > grant.granted) {
    grant.granted = least;
    grant.choice = 'short_run';
  }
}

/** Fills `run.cpu` in weight mode: nothing is harvested, and the demand is the function's peak. */
export function chooseUserCpu(run: Run, { settings }: PolicyContext, now: number): void {
  const { cpu: grant, fn } = run;
  userRange(grant, run.control ? 'control' : 'weight');
  grant.demand = fn.cpuPeak.count > 0 ? fn.cpuPeak.read(now, settings.halfLife) : grant.user;
}

/**
 * Fills `run.shares`, also beside a quota: under contention weights decide who waits
 * (docs/decisions/0009). A policy for ranges chooses no weight, and the published presets know
 * none. `isAlone`: nothing else runs, so that the weight says nothing about who waits.
 */
export function chooseWeight(
  run: Run,
  policy: ActivationPolicy,
  context: PolicyContext,
  isAlone: boolean,
): void {
  const choosesWeight =
    policy.kind === 'weight' || (policy.kind === 'both' && run.container.mode === 'weight');
  const isNeutral = run.control || run.late;
  const factor = isNeutral || !choosesWeight ? Number.NaN : policy.choose(run, run.cpu, context);
  if (context.settings.preset !== 'default') return;
  if (isNeutral) {
    const neutral = ownWeight(run.container, context.neutralWeight);
    run.shares = Math.min(neutral, Math.floor(context.mostWeight));
    return;
  }
  takeWeight(run, factor, context);
  const { fn, container } = run;
  // Beside a quota it is the quota that slows a function down.
  if (container.mode === 'quota')
    fn.weightFactor = run.shares / ownWeight(run.container, context.commonWeight);
  else if (run.enforced && !isAlone)
    observeWeight(fn, run.shares / ownWeight(run.container, context.neutralWeight));
}

/** Sets `run.shares`. A factor that is not finite or not positive: as without Gleaner. */
export function takeWeight(run: Run, factor: number, context: PolicyContext): void {
  const { shares } = run.container;
  const { commonWeight, neutralWeight, mostWeight } = context;
  const isKnown = factor > 0 && Number.isFinite(factor);
  const chosen = ownWeight(run.container, isKnown ? factor * commonWeight : neutralWeight);
  const demand = Math.min(chosen, Math.floor(mostWeight));
  // A weight close to the one in force is not worth a write.
  const isClose = shares <= mostWeight && Math.abs(demand - shares) <= DEAD_BAND * shares;
  run.shares = isClose ? shares : demand;
}

/**
 * A policy that predicts this very run may leave the range that recent peaks give; the mid-run
 * safeguard still applies.
 */
function widen(grant: Grant, floor: number, cap: number): void {
  if (grant.reason !== 'over_provisioned' && grant.reason !== 'under_provisioned') return;
  grant.lower = Math.min(grant.user, floor);
  grant.upper = Math.max(grant.user, cap);
}

/** Fills `run.memory`. */
export function chooseMemory(
  run: Run,
  policy: ActivationPolicy,
  context: PolicyContext,
  now: number,
): void {
  const grant = run.memory;
  const settings = context.settings;
  if (!(grant.user > 0)) {
    userRange(grant, 'unlimited');
    return;
  }
  if (run.fn.memoryPolicy === 'guarantee') {
    grant.lower = grant.user;
    grant.demand = Math.max(grant.user, run.fn.memoryAfterOom);
    grant.reason = 'guarantee';
    holdLoan(run);
    return;
  }
  if (run.control) userRange(grant, 'control');
  else memoryRange(grant, run.fn, settings, now);
  if (policy.predicts === true && settings.midRun)
    widen(grant, settings.memoryFloor, settings.memoryCap);
  chooseInRange(run, grant, policy, context);
  grant.granted = Math.ceil(grant.granted);
}

/** Policy `guarantee`: the user's limit and the container's loan. */
export function holdLoan(run: Run): void {
  const grant = run.memory;
  const loan = run.container.memoryLoan;
  grant.upper = grant.user + loan;
  grant.granted = grant.upper;
  grant.borrowed = loan;
  grant.choice = loan > 0 ? 'loan' : 'user';
  run.memoryLimit = grant.granted as Bytes;
}

/** The policy's choice, clipped to the range. Not finite or not positive: the user's limit. */
function chooseInRange(
  run: Run,
  grant: Grant,
  policy: ActivationPolicy,
  context: PolicyContext,
): void {
  const requested = policy.kind === 'weight' ? Number.NaN : policy.choose(run, grant, context);
  if (!(requested > 0) || !Number.isFinite(requested)) {
    grant.demand = grant.user;
    grant.granted = grant.user;
    grant.choice = 'no_target';
    return;
  }
  // A smaller request gets the lower bound anyway.
  grant.demand = Math.max(grant.lower, requested);
  if (grant.lower === grant.user && grant.upper === grant.user) {
    grant.granted = grant.user;
    grant.choice = 'user';
    return;
  }
  grant.granted = Math.min(grant.upper, Math.max(grant.lower, requested));
  grant.choice = grant.granted === requested ? 'chosen' : 'clipped';
}
