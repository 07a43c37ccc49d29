import type { Engine } from '../../../agents/nn/index.js';
import type { LearnerState } from '../../../agents/ppo/index.js';
import type { Held } from '../../../agents/simppo/index.js';
import { type Random, SeededRandom } from '../../../config/index.js';
import { ScalingAgent } from './agent.js';
import { publishedFeatures } from './features.js';
import { LocalMeanField } from './mean-field.js';
import type { ScalingAgentSettings } from './settings.js';
import type { ClusterTotals, ScalingState } from './state.js';

export interface TeamMember {
  readonly name: string;
  /** What it starts from; null: untrained. */
  readonly state: LearnerState | null;
}

export interface ScalingTeamOptions {
  readonly engine: Engine;
  readonly settings: ScalingAgentSettings;
  readonly seed: number;
  readonly members: readonly TeamMember[];
}

/**
 * Agents that share a cluster and see each other as one virtual agent each. Steps are synchronous:
 * all see, all decide.
 */
export class ScalingTeam {
  readonly agents: readonly ScalingAgent[];
  readonly names: readonly string[];
  readonly #meanField = new LocalMeanField();
  /** By agent: false keeps its weights as they are. */
  readonly learning: boolean[];

  constructor({ engine, settings, seed, members }: ScalingTeamOptions) {
    const random: Random = new SeededRandom(seed).fork('team');
    this.names = members.map(({ name }) => name);
    this.agents = members.map(
      ({ name, state }) => new ScalingAgent({ engine, settings, random: random.fork(name), state }),
    );
    this.learning = members.map(() => true);
  }

  begin(): void {
    for (const agent of this.agents) agent.begin();
  }

  decide(allObserved: readonly ScalingState[], totals: ClusterTotals, explore: boolean): Held[] {
    const states = this.#publish(allObserved, totals);
    return this.agents.map((agent, i) =>
      agent.decide(
        allObserved[i]!,
        states[i]!,
        this.#others(i),
        totals,
        explore && this.learning[i]!,
      ),
    );
  }

  /** Rewards of the step, of those who learn and of those who do not. */
  learn(allObserved: readonly ScalingState[], totals: ClusterTotals): number[] {
    const members = this.agents.length;
    return this.agents.map((agent, i) =>
      agent.learn(allObserved[i]!, totals, members, this.learning[i]!),
    );
  }

  /** The episode is cut; who has a batch learns from it. */
  end(allObserved: readonly ScalingState[], totals: ClusterTotals): void {
    const states = this.#publish(allObserved, totals);
    this.agents.forEach((agent, i) => {
      if (!this.learning[i]) return;
      agent.cut(allObserved[i]!, states[i]!, this.#others(i), totals);
      if (agent.ppo.ready) agent.ppo.update();
    });
  }

  #publish(allObserved: readonly ScalingState[], totals: ClusterTotals): number[][] {
    const states = allObserved.map((observed) => publishedFeatures(observed, totals));
    if (this.agents[0]?.settings.virtual !== 'none') {
      const actions = this.agents.map(({ last }) => last);
      this.#meanField.step(this.names, allObserved, states, actions, totals);
    }
    return states;
  }

  #others(index: number) {
    return this.#meanField.others(this.names[index]!);
  }

  export(): LearnerState[] {
    return this.agents.map((agent) => agent.ppo.export());
  }

  dispose(): void {
    for (const agent of this.agents) agent.dispose();
  }
}
