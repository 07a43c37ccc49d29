import { HPA_VPA_DEFAULT, type HpaVpaConstants } from '../../agents/managers/index.js';
import {
  doNothing,
  ensure,
  hpaVpa,
  judge,
  kpa,
  randomActions,
  type ScalingController,
  type Start,
  staticStart,
} from '../autoscaling/index.js';
import { heldOut } from './learners.js';
import { environmentOf, type Setting, type StudySize, tuningSeed, WARM_UP } from './protocol.js';
import { type ContenderScore, meanScore } from './scores.js';

/** What `hpa-vpa` is tuned over: Kubernetes' target, and how long a fall waits. */
const TARGETS = [0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9];
const STABILISATIONS = [15_000, 30_000, 60_000, 300_000];
/** Training episodes that each setting is tried on. */
const TUNING_EPISODES = 4;

export interface Tuned {
  readonly target: number;
  readonly stabilization: number;
  readonly reward: number;
}

const constantsOf = ({
  target,
  stabilization,
}: Pick<Tuned, 'target' | 'stabilization'>): HpaVpaConstants => ({
  ...HPA_VPA_DEFAULT,
  hpa: { ...HPA_VPA_DEFAULT.hpa, target, stabilization },
});

/**
 * The setting of `hpa-vpa` that earns most on traces of training. Nothing else of it is changed,
 * and no test is looked at.
 */
export function tuneHpaVpa(setting: Setting, size: StudySize): Tuned {
  const arena = environmentOf(size.functions, setting, size);
  const episodes = Array.from({ length: TUNING_EPISODES }, (_, i) =>
    arena.judgedEpisode('train', tuningSeed(i)),
  );
  let best: Tuned | null = null;
  for (const target of TARGETS)
    for (const stabilization of STABILISATIONS) {
      const controller = hpaVpa(constantsOf({ target, stabilization }));
      const { reward } = meanScore(
        episodes.map((episode) => judge(arena.judging, episode, controller, { warmUp: WARM_UP })),
      );
      if (best === null || reward > best.reward) best = { target, stabilization, reward };
    }
  return best!;
}

export const FLOORS = ['do-nothing', 'static', 'random', 'kpa', 'ensure', 'hpa-vpa'] as const;
export type FloorName = (typeof FLOORS)[number];

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
    static: run(doNothing, staticStart(setting.load)),
    random: run(randomActions(seed)),
    kpa: run(kpa()),
    ensure: run(ensure()),
    'hpa-vpa': run(hpaVpa(constantsOf(tuned))),
  };
}
