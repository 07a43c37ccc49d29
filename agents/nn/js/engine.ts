import type { ActorCritic, Engine } from '../engine.js';
import type { Network } from '../network.js';
import type { NetworkShape } from '../shape.js';
import { JsActorCritic } from './actor-critic.js';
import { JsNetwork } from './network.js';

/** Typed arrays and nothing else: runs everywhere, and is the reference for the others. */
export class JsEngine implements Engine {
  readonly name = 'js';
  readonly detail = `typed arrays, V8 ${process.versions.v8}`;

  network(shape: NetworkShape): Network {
    return new JsNetwork(shape);
  }

  actorCritic(actor: NetworkShape, critic: NetworkShape): ActorCritic {
    return new JsActorCritic(actor, critic);
  }
}
