import type { Decision, ResourceManager } from '../../agents/index.js';
import { createManager, type HpaVpaConstants, hpaVpaManager } from '../../agents/managers/index.js';
import { priceOf } from '../../broker/mean-field/index.js';
import type { Bytes, Millicores, Millis } from '../../config/index.js';
import { SeededRandom } from '../../config/index.js';
import { SIMPPO_SIZES } from './agent/settings.js';
import type { ScalingState } from './agent/state.js';
import { observationOfState } from './observations.js';
import type { ScalingController } from './play.js';
import type { ScaledFunction } from './scaled-function.js';
import type { Allocation } from './scaling-cluster.js';

/** Keeps the start's allocation. */
export const doNothing: ScalingController = {
  name: 'do-nothing',
  begin: () => {},
  decide: (cluster) => cluster.states.map(() => null),
};

const clamp = (value: number, least: number, most: number): number =>
  Math.min(most, Math.max(least, value));

/** A manager of the product, clipped to the protocol's bounds. */
function managed(
  name: string,
  manager: ResourceManager,
  latency: 'run' | 'response' = 'run',
): ScalingController {
  let states: unknown[] = [];
  const random = new SeededRandom(1);
  return {
    name,
    begin: (cluster) => {
      states = cluster.states.map(({ fn }) => manager.initialState(fn.name));
    },
    decide: (cluster, allObserved) =>
      cluster.states.map((state, i) => {
        const observation = observationOfState(state, cluster, latency);
        const view = {
          observation,
          features: [],
          others: null,
          price: { cpu: priceOf(cluster.occupancy), memory: 0 },
          random,
        };
        const result = manager.decide(states[i], view, cluster.now as Millis);
        states[i] = result.state;
        return granted(allObserved[i]!, result.decision);
      }),
  };
}

function granted({ held }: ScalingState, { cpu, memory, containers }: Decision): Allocation {
  const { least, most } = SIMPPO_SIZES;
  return {
    cpu: clamp(cpu ?? held.cpu, least.cpu, most.cpu),
    memory: clamp(memory ?? held.memory, least.memory, most.memory),
    containers: clamp(containers ?? held.containers, least.containers, most.containers),
  };
}

const CAP = { cpu: SIMPPO_SIZES.most.cpu as Millicores, memory: SIMPPO_SIZES.most.memory as Bytes };

/** Knative counts those who wait for a container as concurrent, so it is shown response times. */
export const kpa = (): ScalingController =>
  managed('kpa', createManager('kpa', { cap: CAP }), 'response');

/**
 * Requests as a scheduler admits them where limits are reserved: whole containers, one each, then
 * always one more for the function with the least CPU whose next container fits.
 */
export function admit(requests: readonly Allocation[], capacity: number): Allocation[] {
  const admitted = requests.map((request) => ({ ...request, containers: 1 }));
  let left = capacity - admitted.reduce((sum, { cpu }) => sum + cpu, 0);
  const own = (i: number): number => admitted[i]!.cpu * admitted[i]!.containers;
  for (;;) {
    let next = -1;
    requests.forEach(({ cpu, containers }, i) => {
      if (admitted[i]!.containers >= containers || cpu > left) return;
      if (next < 0 || own(i) < own(next)) next = i;
    });
    if (next < 0) return admitted;
    admitted[next]!.containers++;
    left -= admitted[next]!.cpu;
  }
}

/** A controller that knows no capacity, behind admission. */
export const admittedBy = (controller: ScalingController): ScalingController => ({
  ...controller,
  decide: (cluster, allObserved) => {
    const targets = controller.decide(cluster, allObserved);
    return admit(
      targets.map((target, i) => target ?? allObserved[i]!.held),
      cluster.capacity,
    );
  },
});

export const ensure = (): ScalingController =>
  managed('ensure', createManager('ensure', { cap: CAP }), 'response');
export const hpaVpa = (constants: HpaVpaConstants, name = 'hpa-vpa'): ScalingController =>
  managed(name, hpaVpaManager(constants) as ResourceManager);

/** Of a start: what a function gets before anyone decides. */
type Given = { readonly fn: ScaledFunction };

/** What the best constant allocation is searched over. */
export interface StaticConstants {
  /** Cores per core of mean work. */
  readonly headroom: number;
  /** Containers beyond those that the mean rate keeps busy. */
  readonly spare: number;
}

/**
 * A constant allocation by each function's mean work in the episode to come: it knows on average
 * what comes, and never acts again.
 */
export const staticStart =
  ({ headroom, spare }: StaticConstants) =>
  ({ fn }: Given, perSecond: number): Allocation => {
    const { least, most, first } = SIMPPO_SIZES;
    const millicores = perSecond * fn.meanCpu * headroom;
    const running = (perSecond * (fn.meanCpu / Math.min(1, fn.parallelism) + fn.meanIo)) / 1000;
    const containers = clamp(Math.ceil(running + spare), least.containers, most.containers);
    return {
      cpu: clamp(millicores / containers, least.cpu, most.cpu),
      memory: first.memory,
      containers,
    };
  };
