import type { Decision, Environment, ResourceManager } from '../../agents/index.js';
import { NO_TARGET } from '../../agents/managers/index.js';
import type { Observation } from '../../broker/messages/index.js';
import type { ActivationStream } from '../workload/index.js';
import { buildCluster } from './build.js';
import type { Cluster } from './cluster.js';
import type { ControlPlane } from './control-plane.js';
import { type ClusterOptions, DEFAULT_CONTROL } from './options.js';

export interface ClusterEnvironmentOptions
  extends Omit<ClusterOptions, 'calls' | 'seed' | 'manager' | 'safeguard' | 'onObservation'> {
  /** The activations of an episode. The functions are the same in all. */
  readonly calls: (seed: number) => ActivationStream;
}

/**
 * The environment in which agents learn: one step is one mean-field interval (`control.fieldMs`),
 * and the observations are those of the control steps that closed in it. A decision holds for its
 * function on all hosts until the next one.
 */
export class ClusterEnvironment implements Environment {
  readonly functions: readonly string[];
  readonly #options: ClusterEnvironmentOptions;
  readonly #stepMicros: number;
  readonly #index: ReadonlyMap<string, number>;
  readonly #decisions = new Map<string, Decision>();
  #observations: Observation[] = [];
  #cluster: Cluster | null = null;
  #control: ControlPlane | null = null;

  constructor(options: ClusterEnvironmentOptions) {
    this.#options = options;
    this.#stepMicros = 1000 * (options.control?.fieldMs ?? DEFAULT_CONTROL.fieldMs);
    this.functions = options.calls(0).functions.map(({ name }) => name);
    this.#index = new Map(this.functions.map((name, fn) => [name, fn]));
  }

  /** Starts an episode and plays its first interval, in which no decision is in force. */
  reset(seed: number): readonly Observation[] {
    this.#decisions.clear();
    this.#observations = [];
    const { cluster, control } = buildCluster({
      ...this.#options,
      calls: this.#options.calls(seed),
      seed,
      manager: this.#outside,
      onObservation: (observation) => this.#observations.push(observation),
    });
    this.#cluster = cluster;
    this.#control = control;
    return this.#play();
  }

  /** @throws Error before `reset`; RangeError for a function that is not there. */
  step(decisions: ReadonlyMap<string, Decision>): {
    readonly observations: readonly Observation[];
    readonly done: boolean;
  } {
    const cluster = this.#cluster;
    if (cluster === null || this.#control === null) throw new Error('an episode begins with reset');
    for (const [name, decision] of decisions) {
      const fn = this.#index.get(name);
      if (fn === undefined)
        throw new RangeError(`there is no function ${name} in this environment`);
      this.#decisions.set(name, decision);
      this.#control.decided(fn, decision, cluster.now / 1000);
    }
    return { observations: this.#play(), done: cluster.finished };
  }

  #play(): readonly Observation[] {
    const cluster = this.#cluster!;
    cluster.run(cluster.now + this.#stepMicros);
    const observations = this.#observations;
    this.#observations = [];
    return observations;
  }

  /** Answers the simulated agents with the decisions given to `step`. */
  readonly #outside: ResourceManager<null> = {
    name: 'environment',
    initialState: () => null,
    phase: () => 'managing',
    decide: (_state, { observation }) => ({
      state: null,
      decision: this.#decisions.get(observation.function) ?? NO_TARGET,
    }),
  };
}
