import type { ActorCritic, Engine } from '../engine.js';
import type { Network } from '../network.js';
import type { NetworkShape } from '../shape.js';
import { TensorFlowActorCritic } from './actor-critic.js';
import { type LoadedTensorFlow, loadTensorFlow, type Packages } from './load.js';
import { TensorFlowNetwork } from './network.js';

export class TensorFlowEngine implements Engine {
  readonly name = 'tensorflow';
  readonly detail: string;
  readonly native: boolean;
  readonly #tf: LoadedTensorFlow['tf'];

  constructor({ tf, detail, native }: LoadedTensorFlow) {
    this.#tf = tf;
    this.detail = detail;
    this.native = native;
  }

  static async load(warn: (text: string) => void, packages?: Packages): Promise<TensorFlowEngine> {
    return new TensorFlowEngine(await loadTensorFlow(warn, packages));
  }

  /** Tensors alive in this process: constant unless one leaks. */
  get tensors(): number {
    return this.#tf.memory().numTensors;
  }

  network(shape: NetworkShape): Network {
    return new TensorFlowNetwork(shape, this.#tf);
  }

  actorCritic(actor: NetworkShape, critic: NetworkShape): ActorCritic {
    return new TensorFlowActorCritic(actor, critic, this.#tf);
  }
}
