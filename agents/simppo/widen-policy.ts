import { layersOf, type Moments, type NetworkShape, ShapeError } from '../nn/index.js';
import {
  type LearnerState,
  type PpoAgentShape,
  type PpoSettings,
  ppoShapes,
} from '../ppo/index.js';
import { simppoShape } from './base-policy.js';
import type { SimppoSettings } from './settings.js';

/**
 * A policy with additional inputs of zero weight at the end: it decides as before until it learns
 * from them. @throws ShapeError if the wider input does not begin with the narrower one
 */
export function widenPolicy(
  state: LearnerState,
  from: SimppoSettings,
  to: SimppoSettings,
): LearnerState {
  return between(state, ppoShapes(simppoShape(from), from.ppo), ppoShapes(simppoShape(to), to.ppo));
}

/** The same for `more` inputs that no virtual agent has. */
export function widenPolicyInputs(
  state: LearnerState,
  shape: PpoAgentShape,
  more: number,
  ppo: PpoSettings,
): LearnerState {
  return between(
    state,
    ppoShapes(shape, ppo),
    ppoShapes({ ...shape, features: shape.features + more }, ppo),
  );
}

type Shapes = Readonly<Record<'actor' | 'critic', NetworkShape>>;

function between(state: LearnerState, narrow: Shapes, wide: Shapes): LearnerState {
  const momentsOf = ({ first, second, steps }: Moments, name: 'actor' | 'critic'): Moments => ({
    first: padded(first, narrow[name], wide[name]),
    second: padded(second, narrow[name], wide[name]),
    steps,
  });
  return {
    actor: padded(state.actor, narrow.actor, wide.actor),
    critic: padded(state.critic, narrow.critic, wide.critic),
    actorMoments: momentsOf(state.actorMoments, 'actor'),
    criticMoments: momentsOf(state.criticMoments, 'critic'),
    counters: { ...state.counters, updates: 0 },
  };
}

/** Rows of zeros after the first layer's kernel [inputs][outputs]. */
function padded(values: Float32Array, narrow: NetworkShape, wide: NetworkShape): Float32Array {
  const [first] = layersOf(narrow);
  const missing = (wide.widths[0] ?? 0) - (narrow.widths[0] ?? 0);
  const alike = narrow.widths.slice(1).every((width, i) => width === wide.widths[i + 1]);
  if (first === undefined || missing < 0 || !alike || narrow.widths.length !== wide.widths.length)
    throw new ShapeError(
      `${narrow.widths.join('-')} cannot be widened to ${wide.widths.join('-')}`,
    );
  const result = new Float32Array(values.length + missing * first.outputs);
  result.set(values.subarray(0, first.bias));
  result.set(values.subarray(first.bias), first.bias + missing * first.outputs);
  return result;
}
