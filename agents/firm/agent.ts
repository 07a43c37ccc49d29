import { SeededRandom } from '../../config/index.js';
import { DdpgAgent, type DdpgSettings, type DdpgShape } from '../ddpg/index.js';
import type { Engine } from '../nn/index.js';

/** FIRM's agent [FIRM] on discrete actions: the best allowed of a DDPG actor's scores is taken. */
export class FirmAgent extends DdpgAgent {
  readonly #actions: number;
  readonly #gamma: number;

  constructor(
    engine: Engine,
    shape: DdpgShape,
    settings: DdpgSettings,
    seed: number,
    restart: number,
  ) {
    super(engine, shape, settings, new SeededRandom(seed).fork(`agent ${restart}`));
    this.#actions = shape.actions;
    this.#gamma = settings.gamma;
  }

  /** Null: no valid action. */
  choose(input: Float32Array, mask: Uint8Array, explore: boolean): number | null {
    const action = this.decide(input, explore);
    if (action === null) return null;
    let best = -1;
    for (let a = 0; a < action.length; a++)
      if (mask[a] === 1 && (best < 0 || action[a]! > action[best]!)) best = a;
    return best < 0 ? null : best;
  }

  /** One executed step; the action is encoded as 1 for the executed one and -1 for all others. */
  rememberStep(state: Float32Array, executed: number, reward: number, next: Float32Array): void {
    const action = Float32Array.from({ length: this.#actions }, (_, a) =>
      a === executed ? 1 : -1,
    );
    this.remember({ state, action, reward, next, discount: this.#gamma });
  }

  /** Takes an actor and a critic, also as targets. False: the shapes differ. */
  adopt(actor: Float32Array, critic: Float32Array): boolean {
    const state = this.export();
    if (actor.length !== state.actor.length || critic.length !== state.critic.length) return false;
    this.import({ ...state, actor, critic, targetActor: actor, targetCritic: critic });
    return true;
  }
}
