import { SeededRandom } from '../../config/index.js';
import { type ActorCritic, type Engine, OptionActorCritic, scoreShape } from '../nn/index.js';
import { type PpoAgentShape, ppoShapes } from './agent.js';
import { type LearnerState, PpoLearner, type PpoMetrics } from './learner.js';
import { Rollout, type RolloutData } from './rollout.js';
import type { PpoSettings } from './settings.js';

/** One update of one agent, in plain data. */
export interface TrainingJob {
  /** Shapes of an ordinary pair, or the number of options of FaaSRM's scorer. */
  readonly shape: PpoAgentShape | { readonly options: number };
  readonly settings: PpoSettings;
  /** The agent's seed: an agent made with `new SeededRandom(seed)` learns the same by itself. */
  readonly seed: number;
  readonly state: LearnerState;
  readonly rollout: RolloutData;
}

export interface TrainingResult {
  readonly state: LearnerState;
  readonly metrics: PpoMetrics;
}

/** One update; nothing is kept. */
export function train(
  engine: Engine,
  { shape, settings, seed, state, rollout }: TrainingJob,
): TrainingResult {
  const pair = pairOf(engine, shape, settings);
  try {
    const learner = new PpoLearner(pair, settings, new SeededRandom(seed).fork('learner'));
    learner.import(state);
    const metrics = learner.update(Rollout.from(rollout));
    return { state: learner.export(), metrics };
  } finally {
    pair.dispose();
  }
}

function pairOf(engine: Engine, shape: TrainingJob['shape'], settings: PpoSettings): ActorCritic {
  if ('options' in shape) return new OptionActorCritic(engine, scoreShape, shape.options);
  const { actor, critic } = ppoShapes(shape, settings);
  return engine.actorCritic(actor, critic);
}
