import { HPA_VPA_DEFAULT, type HpaVpaConstants } from '../../agents/managers/index.js';
import {
  admittedBy,
  doNothing,
  ensure,
  hpaVpa,
  judge,
  kpa,
  type ScalingController,
  type Start,
  type StaticConstants,
  staticStart,
} from '../autoscaling/index.js';
import { heldOut } from './learners.js';
import { environmentOf, type Setting, type StudySize, tuningSeed, WARM_UP } from './protocol.js';
import { type ContenderScore, meanScore } from './scores.js';

/** What `hpa-vpa` is tuned over: Kubernetes' target, and how long a fall waits. */
const TARGETS = [0.3, 0.35, 0.4, 0.5, 0.6, 0.65, 0.7, 0.8];
const STABILISATIONS = [0, 15_000, 60_000];
/** What the constant allocation is tuned over. */
const HEADROOMS = [1.25, 1.5, 2, 3, 4];
const SPARES = [0, 1, 2, 4];
/** Training episodes that each setting is tried on. */
const TUNING_EPISODES = 4;

export interface Tuned {
  readonly target: number;
  readonly stabilization: number;
  readonly reward: number;
  readonly constant: StaticConstants;
}

const constantsOf = ({
  target,
  stabilization,
}: Pick<Tuned, 'target' | 'stabilization'>): HpaVpaConstants => ({
  ...HPA_VPA_DEFAULT,
  hpa: { ...HPA_VPA_DEFAULT.hpa, target, stabilization },
});

/**
 * The setting of `hpa-vpa` and the constant allocation that earn most on traces of training. No
 * test is looked at.
 */
export function tuneRules(setting: Setting, size: StudySize): Tuned {
  const arena = environmentOf(size.functions, setting, size);
  const episodes = Array.from({ length: TUNING_EPISODES }, (_, i) =>
    arena.judgedEpisode('train', tuningSeed(i)),
  );
  const rewardOf = (controller: ScalingController, start?: Start): number =>
    meanScore(
      episodes.map((episode) =>
        judge(arena.judging, episode, controller, { warmUp: WARM_UP, start }),
      ),
    ).reward;
  const rules = TARGETS.flatMap((target) =>
    STABILISATIONS.map((stabilization) => {
      const reward = rewardOf(hpaVpa(constantsOf({ target, stabilization })));
      return { target, stabilization, reward };
    }),
  );
  const constants = HEADROOMS.flatMap((headroom) =>
    SPARES.map((spare) => {
      const constant = { headroom, spare };
      return { constant, reward: rewardOf(doNothing, staticStart(constant)) };
    }),
  );
  return { ...best(rules), constant: best(constants).constant };
}

const best = <T extends { readonly reward: number }>(all: readonly T[]): T =>
  all.reduce((most, one) => (one.reward > most.reward ? one : most));

export const SCALING_FLOORS = ['do-nothing', 'static', 'kpa', 'ensure', 'hpa-vpa'] as const;
export type FloorName = (typeof SCALING_FLOORS)[number];

/** Who does not learn, on the held-out episodes of a seed. */
export function runFloors(
  setting: Setting,
  seed: number,
  size: StudySize,
  tuned: Tuned,
): Record<FloorName, ContenderScore> {
  const arena = environmentOf(size.functions, setting, size);
  const episodes = heldOut(arena, seed, size);
  const run = (controller: ScalingController, start?: Start): ContenderScore =>
    meanScore(
      episodes.map((episode) =>
        judge(arena.judging, episode, controller, { warmUp: WARM_UP, start }),
      ),
    );
  return {
    'do-nothing': run(doNothing),
    static: run(doNothing, staticStart(tuned.constant)),
    // It never sizes CPU: without admission it reserves a multiple of the capacity.
    kpa: run(setting.contention === 'reserved' ? admittedBy(kpa()) : kpa()),
    ensure: run(ensure()),
    'hpa-vpa': run(hpaVpa(constantsOf(tuned))),
  };
}
