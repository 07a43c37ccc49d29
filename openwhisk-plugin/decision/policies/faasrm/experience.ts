import type { FaasrmExperience } from '../../../../broker/messages/index.js';
import { LEVELS, STATE_FEATURES } from '../../../../rules/index.js';
import type { Run } from '../../container-state.js';
import type { FunctionState } from '../../function-state.js';

/** One choice among options, with what was looked at: all that a learner needs but its outcome. */
export class Choice {
  readonly state = new Float32Array(STATE_FEATURES);
  /** Features of the amounts there were; the first `cpus` and `memories` count. */
  readonly cpu = new Float32Array(LEVELS);
  readonly memory = new Float32Array(LEVELS);
  cpus = 0;
  memories = 0;
  /** cpu x memories + memory. */
  option = -1;
  logProbability = 0;
  /** The chosen share of the host's allocatable CPU. */
  share = 0;
  /** Version of the weights that chose. */
  version = 0;

  get options(): number {
    return this.cpus * this.memories;
  }
}

/**
 * Receives each choice that was drawn among several options, after a clean end of its own
 * activation: `slowdown` is the duration relative to the one at user limits. The choice is valid
 * during the call only.
 */
export type ExperienceListener = (
  choice: Readonly<Choice>,
  slowdown: number,
  fn: FunctionState,
) => void;

/** As it is sent. */
export function experienceOf(
  choice: Readonly<Choice>,
  slowdown: number,
  action: string,
): FaasrmExperience {
  const { state, cpu, memory, cpus, memories, option, logProbability, share, version } = choice;
  return {
    function: action,
    weights: version,
    state: [...state],
    cpu: [...cpu.subarray(0, cpus)],
    memory: [...memory.subarray(0, memories)],
    option,
    logProbability: Math.min(0, logProbability),
    share: Math.min(1, share),
    slowdown,
  };
}

/**
 * Duration relative to the function's at user limits: the control arm's mean (both resources at
 * user limits, so that calibrating one does not distort the other), corrected by how much more or
 * less this activation computed than the mean one, at the rate at which the function uses CPU
 * within its user's limit. NaN: not known yet.
 */
export function slowdownOf(run: Run, duration: number, meanCpuPeak: number): number {
  const { fn, cpu } = run;
  const baseline = fn.control.mean;
  if (!(baseline > 0) || !(duration > 0)) return Number.NaN;
  const work =
    run.startCpu >= 0 && run.endCpu >= run.startCpu
      ? (run.endCpu - run.startCpu) / 1000
      : Number.NaN;
  const rate = Math.min(meanCpuPeak, cpu.user) / 1000;
  const more = rate > 0 ? (work - fn.expectedCpu.mean) / rate : Number.NaN;
  const expected = Number.isNaN(more) ? baseline : Math.max(baseline / MIN, baseline + more);
  return duration / expected;
}

/** However little it had to compute, an activation takes an eighth of its function's time. */
const MIN = 8;
