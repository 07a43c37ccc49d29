import { Activations, Due } from '../../../simulator/engine/activations.js';
import { isThrottled, periodEndAt } from '../../../simulator/engine/bucket.js';
import { PERIOD_MICROS, timeToThrottle } from '../../../simulator/engine/cfs.js';
import { Cores } from '../../../simulator/engine/cores.js';
import { Levels } from '../../../simulator/engine/levels.js';

/**
 * One piece of work on a host's cores. Times in us, work in core-us, quota in core-us a period (0 =
 * none).
 */
export interface Job {
  readonly at: number;
  readonly work: number;
  readonly cap: number;
  readonly weight: number;
  readonly quota: number;
}

export interface Played {
  readonly ends: number[];
  readonly cpu: number[];
  /** Most cores that were granted at once, over what there are. */
  readonly excess: number;
  readonly levels: Levels;
}

/**
 * Plays jobs on the engine's cores alone: a host, no containers. `visit` sees the rates after every
 * event.
 */
export function playOnCores(
  cores: number,
  jobs: readonly Job[],
  visit: (rates: { job: Job; rate: number }[], now: number) => void = () => {},
): Played {
  const activations = new Activations();
  const c = activations.columns;
  const levels = new Levels(1e12, 1);
  const host = new Cores(activations, 1, cores, levels);
  const order = jobs.map((job, index) => ({ job, index })).sort((a, b) => a.job.at - b.job.at);
  const ends = jobs.map(() => Number.NaN);
  const cpu = jobs.map(() => 0);
  const running = new Map<number, number>();
  let excess = Number.NEGATIVE_INFINITY;
  let arrived = 0;
  let due = Number.POSITIVE_INFINITY;
  for (;;) {
    const arrival = order[arrived]?.job.at ?? Number.POSITIVE_INFINITY;
    const now = Math.min(due, arrival);
    if (now === Number.POSITIVE_INFINITY) break;
    if (due <= arrival) {
      const a = host.first(0);
      const kind = c.dueKind[a];
      if (kind === Due.refill) host.refilled(a, now);
      else if (kind === Due.stop) {
        host.settle(a, now);
        c.done[a] = c.stop[a]!;
        host.leave(a, now);
        const index = running.get(a)!;
        ends[index] = now;
        cpu[index] = c.cpuUsed[a]!;
        running.delete(a);
        activations.release(a);
      } else host.interrupted(a, now);
    } else {
      const { job, index } = order[arrived++]!;
      const a = activations.allocate();
      running.set(a, index);
      c.host[a] = 0;
      c.done[a] = 0;
      c.cpuUsed[a] = 0;
      c.work[a] = job.work;
      c.stop[a] = job.work;
      c.cap[a] = job.cap;
      c.weight[a] = job.weight;
      c.quota[a] = job.quota;
      c.used[a] = 0;
      c.periodEnd[a] = periodEndAt(job.at, now);
      c.deadline[a] = Number.POSITIVE_INFINITY;
      c.tripRate[a] = Number.POSITIVE_INFINITY;
      host.join(a, now);
    }
    due = host.next(0, now);
    const rates = [...running].map(([a, index]) => ({
      job: jobs[index]!,
      rate: isThrottled(c, a) ? 0 : host.rate(a),
    }));
    excess = Math.max(excess, rates.reduce((sum, { rate }) => sum + rate, 0) - cores);
    visit(rates, now);
  }
  return { ends, cpu, excess, levels };
}

/**
 * Weighted max-min shares: the highest level at which min(cap, weight x level) adds up to the
 * cores.
 */
export function maxMinRates(
  cores: number,
  running: readonly Pick<Job, 'cap' | 'weight'>[],
): number[] {
  const at = (level: number) => running.map(({ cap, weight }) => Math.min(cap, weight * level));
  const sum = (rates: readonly number[]) => rates.reduce((total, rate) => total + rate, 0);
  let low = 0;
  let high = Math.max(...running.map(({ cap, weight }) => cap / weight));
  if (sum(at(high)) <= cores) return at(high);
  for (let i = 0; i < 200; i++) {
    const middle = (low + high) / 2;
    if (sum(at(middle)) <= cores) low = middle;
    else high = middle;
  }
  return at(low);
}

/**
 * The same by brute force: from one change to the next, with the shares computed for all. Changes
 * come at whole microseconds, as in the engine: an event in between is seen at the next.
 */
export function playByHand(cores: number, jobs: readonly Job[]): number[] {
  const ends = jobs.map(() => Number.NaN);
  const state = jobs.map((job) => ({ left: job.work, used: 0, periodEnd: job.at + PERIOD_MICROS }));
  let now = 0;
  for (let step = 0; step < 1e6; step++) {
    const active = jobs.flatMap((job, i) => (job.at <= now && Number.isNaN(ends[i]!) ? [i] : []));
    const arrival = Math.min(
      ...jobs.map((job) => (job.at > now ? job.at : Number.POSITIVE_INFINITY)),
    );
    if (active.length === 0 && arrival === Number.POSITIVE_INFINITY) return ends;
    const isEmpty = (i: number) => jobs[i]!.quota > 0 && state[i]!.used >= jobs[i]!.quota - 1e-6;
    const rates = maxMinRates(
      cores,
      active.map((i) => ({ weight: jobs[i]!.weight, cap: isEmpty(i) ? 0 : jobs[i]!.cap })),
    );
    let until = arrival;
    active.forEach((i, k) => {
      const { left, used, periodEnd } = state[i]!;
      const rate = rates[k]!;
      if (rate > 0) until = Math.min(until, now + Math.ceil(left / rate - 1e-6));
      if (jobs[i]!.quota === 0) return;
      until = Math.min(until, periodEnd);
      const phase = PERIOD_MICROS - (periodEnd - now);
      until = Math.min(
        until,
        now + Math.ceil(timeToThrottle(rate, jobs[i]!.quota, PERIOD_MICROS, phase, used)),
      );
    });
    active.forEach((i, k) => {
      const one = state[i]!;
      const bucket = jobs[i]!.quota > 0 ? jobs[i]!.quota - one.used : Number.POSITIVE_INFINITY;
      const done = Math.min(rates[k]! * (until - now), one.left, bucket);
      one.left -= done;
      one.used += done;
      if (one.left <= 1e-6) ends[i] = until;
      while (one.periodEnd <= until) {
        one.periodEnd += PERIOD_MICROS;
        one.used = 0;
      }
    });
    now = until;
  }
  throw new Error('did not come to an end');
}
