import { MIB } from '../../../config/index.js';
import { cpuUnitOf } from '../../../rules/index.js';
import type { Run } from '../container-state.js';
import type { FunctionState } from '../function-state.js';
import type { Grant } from '../grant.js';
import { limitAbovePeak } from '../safeguard.js';
import type { ActivationPolicy, PolicyContext } from './activation-policy.js';
import { LibraProfile } from './libra-profile.js';

/** Use of this share of what was granted: the run took all that it was given. */
const SATURATED = 0.95;

/**
 * Libra [Libra-HPDC23]: predicts each activation's demand from the size of its input if size
 * explains CPU, memory and duration, otherwise from the P99 of the peaks seen. An amount below the
 * user's is harvested, one above is borrowed. The pool ordered by expected end, the preemptive
 * release and the mid-run safeguard are the decider's (harvest-pool.ts, decider.ts).
 *
 * Differences: a line in logarithms instead of a random forest; inputs are not duplicated to train
 * it, so a run that used its whole grant gets twice as much next; units are fractions of a core; a
 * prediction leaves a margin so that the safeguard does not trip. No memory prediction applies
 * under memory policy `guarantee`.
 */
export class LibraPolicy implements ActivationPolicy {
  readonly name = 'libra';
  readonly kind = 'range';
  readonly predicts = true;
  /** By function; forgotten with it. */
  readonly #profiles = new WeakMap<FunctionState, LibraProfile>();

  choose(run: Run, grant: Grant, { settings }: PolicyContext): number {
    const profile = this.#profiles.get(run.fn);
    if (profile === undefined) return Number.NaN;
    const isCpu = grant === run.cpu;
    const demand = isCpu ? profile.cpu : profile.memory;
    const size = run.payload;
    let predicted = demand.p99;
    if (profile.sizeRelated && profile.covers(size)) predicted = demand.predict(size);
    if (!(predicted >= 0)) return Number.NaN;
    if (!isCpu) return limitAbovePeak(predicted * MIB, settings.memoryUnit, settings);
    return Math.max(
      profile.probe,
      limitAbovePeak(predicted, cpuUnitOf(grant.user, settings), settings),
    );
  }

  learn(run: Run, duration: number, { settings }: PolicyContext, now: number): void {
    let profile = this.#profiles.get(run.fn);
    if (profile === undefined) {
      profile = new LibraProfile();
      this.#profiles.set(run.fn, profile);
    }
    profile.learn(run, duration, settings, now);
    const { cpu } = run;
    const all = cpu.peak >= SATURATED * cpu.granted;
    profile.probe = all ? Math.min(2 * cpu.granted, Math.max(settings.cpuCap, cpu.user)) : 0;
  }
}
