import type { Engine } from '../../../agents/nn/index.js';
import type { LearnerState } from '../../../agents/ppo/index.js';
import type { Held } from '../../../agents/simppo/index.js';
import { type Random, SeededRandom } from '../../../config/index.js';
import { ScalingAgent } from './agent.js';
import { publishedFeatures } from './features.js';
import { LocalMeanField } from './mean-field.js';
import type { ScalingAgentSettings } from './settings.js';
import type { ClusterTotals, ScalingState, ScalingView } from './state.js';

export interface TeamMember {
  readonly name: string;
  /** Initial weights; null: untrained. */
  readonly state: LearnerState | null;
}

export interface ScalingTeamOptions {
  readonly engine: Engine;
  readonly settings: ScalingAgentSettings;
  /** Decisions of one episode. */
  readonly decisions: number;
  readonly seed: number;
  readonly members: readonly TeamMember[];
}

/** Agents on one cluster; each sees all others as one virtual agent. Steps are synchronous. */
export class ScalingTeam {
  readonly agents: readonly ScalingAgent[];
  readonly names: readonly string[];
  readonly #meanField = new LocalMeanField();
  /** By agent: false keeps its weights unchanged. */
  readonly learning: boolean[];

  constructor({ engine, settings, decisions, seed, members }: ScalingTeamOptions) {
    const random: Random = new SeededRandom(seed).fork('team');
    this.names = members.map(({ name }) => name);
    this.agents = members.map(
      ({ name, state }) =>
        new ScalingAgent({ engine, settings, decisions, random: random.fork(name), state }),
    );
    this.learning = members.map(() => true);
  }

  begin(): void {
    for (const agent of this.agents) agent.begin();
  }

  decide(allObserved: readonly ScalingState[], totals: ClusterTotals, explore: boolean): Held[] {
    const states = this.#publish(allObserved, totals);
    return this.agents.map((agent, i) =>
      agent.decide(this.#view(i, allObserved, states, totals), explore && this.learning[i]!),
    );
  }

  /** Rewards of the step, of learning and of serving agents. */
  learn(allObserved: readonly ScalingState[], totals: ClusterTotals): number[] {
    const members = this.agents.length;
    return this.agents.map((agent, i) =>
      agent.learn(allObserved[i]!, totals, members, this.learning[i]!),
    );
  }

  /** The episode is cut; agents with a full batch learn from it. */
  end(allObserved: readonly ScalingState[], totals: ClusterTotals): void {
    const states = this.#publish(allObserved, totals);
    this.agents.forEach((agent, i) => {
      if (!this.learning[i]) return;
      agent.cut(this.#view(i, allObserved, states, totals));
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

  #view(
    index: number,
    allObserved: readonly ScalingState[],
    states: readonly (readonly number[])[],
    totals: ClusterTotals,
  ): ScalingView {
    const others = this.#meanField.others(this.names[index]!);
    return { observed: allObserved[index]!, published: states[index]!, others, totals };
  }

  export(): LearnerState[] {
    return this.agents.map((agent) => agent.ppo.export());
  }

  dispose(): void {
    for (const agent of this.agents) agent.dispose();
  }
}
