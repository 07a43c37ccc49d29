import type { Random } from '../../config/index.js';
import {
  adamDefaults,
  type Engine,
  type Moments,
  type Network,
  type NetworkShape,
  orthogonal,
  parameterCount,
} from '../nn/index.js';
import type { ReplayBatch, ReplayMemory } from './replay.js';
import type { DdpgSettings } from './settings.js';

export interface DdpgShape {
  readonly features: number;
  readonly actions: number;
}

/** An action is tanh of the actor's output; the critic's input is the state, then the action. */
function ddpgShapes(
  { features, actions }: DdpgShape,
  { hidden }: Pick<DdpgSettings, 'hidden'>,
): { actor: NetworkShape; critic: NetworkShape } {
  return {
    actor: { widths: [features, ...hidden, actions], activation: 'relu' },
    critic: { widths: [features + actions, ...hidden, 1], activation: 'relu' },
  };
}

export interface DdpgMetrics {
  /** Half the mean squared error of Q against its target. */
  readonly criticLoss: number;
  /** False: a gradient was not finite, and that network has not changed. */
  readonly applied: boolean;
}

export interface DdpgState {
  readonly actor: Float32Array;
  readonly critic: Float32Array;
  readonly targetActor: Float32Array;
  readonly targetCritic: Float32Array;
  readonly actorMoments: Moments;
  readonly criticMoments: Moments;
  readonly updates: number;
}

/** Deep deterministic policy gradient (Lillicrap et al. 2016), repeatable by its seed. */
export class DdpgLearner {
  readonly actor: Network;
  readonly #critic: Network;
  readonly #targetActor: Network;
  readonly #targetCritic: Network;
  readonly #settings: DdpgSettings;
  readonly #shape: DdpgShape;
  readonly #random: Random;
  #updates = 0;

  constructor(engine: Engine, shape: DdpgShape, settings: DdpgSettings, random: Random) {
    const { actor, critic } = ddpgShapes(shape, settings);
    this.#settings = settings;
    this.#shape = shape;
    this.#random = random;
    this.actor = engine.network(actor);
    this.#critic = engine.network(critic);
    this.#targetActor = engine.network(actor);
    this.#targetCritic = engine.network(critic);
    this.actor.import(orthogonal(actor, 0.01, random.fork('actor')));
    this.#critic.import(orthogonal(critic, 0.01, random.fork('critic')));
    this.#targetActor.import(this.actor.export());
    this.#targetCritic.import(this.#critic.export());
  }

  get updates(): number {
    return this.#updates;
  }

  /** Null where too little is remembered yet. */
  update(memory: ReplayMemory): DdpgMetrics | null {
    const { batch, warmUp, tau } = this.#settings;
    if (memory.size < Math.max(batch, warmUp)) return null;
    const rows = memory.sample(batch, this.#random.fork(`update ${this.#updates}`));
    const { criticLoss, applied } = this.#learnCritic(rows);
    const actorApplied = this.#learnActor(rows);
    follow(this.#targetCritic, this.#critic, tau);
    follow(this.#targetActor, this.actor, tau);
    this.#updates++;
    return { criticLoss, applied: applied && actorApplied };
  }

  /** Q(s, a) towards r + d Q'(s', a'(s')), the primed ones by the target networks. */
  #learnCritic({ rows, states, actions, rewards, next, discounts }: ReplayBatch) {
    const after = new Float32Array(rows);
    const nextActions = this.#act(this.#targetActor, next, rows);
    this.#targetCritic.forwardBatch(this.#join(next, nextActions, rows), rows, after);
    const inputs = this.#join(states, actions, rows);
    const q = new Float32Array(rows);
    this.#critic.forwardBatch(inputs, rows, q);
    let criticLoss = 0;
    const gradient = q.map((value, row) => {
      const error = value - (rewards[row]! + discounts[row]! * after[row]!);
      criticLoss += (0.5 * error * error) / rows;
      return error / rows;
    });
    const adam = this.#adam(this.#settings.criticLearningRate);
    return { criticLoss, applied: this.#critic.train(inputs, rows, gradient, adam).applied };
  }

  /** Up the critic's slope: dL/dz = -dQ/da (1 - a^2) / rows, as a = tanh z. */
  #learnActor({ rows, states }: ReplayBatch): boolean {
    const { features, actions } = this.#shape;
    const chosen = this.#act(this.actor, states, rows);
    const inputs = this.#join(states, chosen, rows);
    const slopes = new Float32Array(inputs.length);
    const unused = new Float32Array(parameterCount(this.#critic.shape));
    this.#critic.gradients(inputs, rows, new Float32Array(rows).fill(1), unused, slopes);
    const width = features + actions;
    const gradient = chosen.map((a, i) => {
      const slope = slopes[Math.floor(i / actions) * width + features + (i % actions)]!;
      return (-slope * (1 - a * a)) / rows;
    });
    const adam = this.#adam(this.#settings.actorLearningRate);
    return this.actor.train(states, rows, gradient, adam).applied;
  }

  #act(actor: Network, states: Float32Array, rows: number): Float32Array {
    const outputs = new Float32Array(rows * this.#shape.actions);
    actor.forwardBatch(states, rows, outputs);
    return outputs.map(Math.tanh);
  }

  #join(states: Float32Array, actions: Float32Array, rows: number): Float32Array {
    const { features, actions: count } = this.#shape;
    const joined = new Float32Array(rows * (features + count));
    for (let row = 0; row < rows; row++) {
      const at = row * (features + count);
      joined.set(states.subarray(row * features, (row + 1) * features), at);
      joined.set(actions.subarray(row * count, (row + 1) * count), at + features);
    }
    return joined;
  }

  #adam(learningRate: number) {
    return { ...adamDefaults, learningRate, maxGradNorm: this.#settings.maxGradNorm };
  }

  export(): DdpgState {
    return {
      actor: this.actor.export(),
      critic: this.#critic.export(),
      targetActor: this.#targetActor.export(),
      targetCritic: this.#targetCritic.export(),
      actorMoments: this.actor.exportMoments(),
      criticMoments: this.#critic.exportMoments(),
      updates: this.#updates,
    };
  }

  import(state: DdpgState): void {
    this.actor.import(state.actor);
    this.#critic.import(state.critic);
    this.#targetActor.import(state.targetActor);
    this.#targetCritic.import(state.targetCritic);
    this.actor.importMoments(state.actorMoments);
    this.#critic.importMoments(state.criticMoments);
    this.#updates = state.updates;
  }

  dispose(): void {
    for (const network of [this.actor, this.#critic, this.#targetActor, this.#targetCritic])
      network.dispose();
  }
}

/** target += tau (source - target). */
function follow(target: Network, source: Network, tau: number): void {
  const goal = source.export();
  target.import(target.export().map((value, i) => value + tau * (goal[i]! - value)));
}
