import type { Decision, ResourceManager } from '../../../agents/index.js';
import type { Observation, PerResource } from '../../../broker/messages/index.js';
import { type Millis, SeededRandom } from '../../../config/index.js';
import { observation } from '../../support/observations.js';

export interface Step extends Partial<Observation> {
  readonly now?: number;
  readonly price?: PerResource;
}

/** Passes observations through a manager, 10 s apart unless they say otherwise. */
export function play<State>(
  manager: ResourceManager<State>,
  steps: readonly Step[],
): { readonly decisions: Decision[]; readonly state: State } {
  let state = manager.initialState('/guest/hello');
  let clock = 0;
  const decisions = steps.map(({ now, price, ...changes }) => {
    clock = now ?? clock + 10_000;
    const view = {
      observation: observation(changes),
      features: [],
      others: null,
      price: price ?? null,
      random: new SeededRandom(1),
    };
    const result = manager.decide(state, view, clock as Millis);
    state = result.state;
    return result.decision;
  });
  return { decisions, state };
}

/** `activations` of `each` ms; managers use the sum. */
export const latencies = (
  activations: number,
  each: number,
): Pick<Observation, 'activations' | 'latency'> => ({
  activations,
  latency: { first: 1, counts: [activations], sum: activations * each, max: each },
});
