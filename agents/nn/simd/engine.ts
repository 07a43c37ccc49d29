import type { ActorCritic, Engine } from '../engine.js';
import type { Network } from '../network.js';
import type { NetworkShape } from '../shape.js';
import { SimdActorCritic } from './actor-critic.js';
import { Arena } from './arena.js';
import { loadKernels } from './kernels.js';
import { SimdNetwork } from './network.js';
import { Workspace } from './workspace.js';

/** Our own WebAssembly SIMD kernels. One engine is one memory: networks of a thread share it. */
export class SimdEngine implements Engine {
  readonly name = 'simd';
  readonly detail = 'own WebAssembly SIMD kernels';
  readonly #workspace: Workspace;

  /** Throws where the kernels are not built or the machine has no SIMD. */
  constructor() {
    const kernels = loadKernels();
    this.#workspace = new Workspace(kernels, new Arena(kernels));
  }

  /** Bytes of the kernels' memory that were ever handed out. */
  get memoryUsed(): number {
    return this.#workspace.arena.used;
  }

  network(shape: NetworkShape): Network {
    return new SimdNetwork(shape, this.#workspace);
  }

  actorCritic(actor: NetworkShape, critic: NetworkShape): ActorCritic {
    return new SimdActorCritic(actor, critic, this.#workspace);
  }
}
