import { CheckpointForeignError } from '../errors.js';
import type { Moments } from '../network.js';
import { expectLength, type NetworkShape, parameterCount, sameShape } from '../shape.js';

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

export interface CheckpointNetwork {
  readonly shape: NetworkShape;
  readonly parameters: Float32Array;
  /** Adam's state; null where the network only decides. */
  readonly moments: Moments | null;
}

/** The content of a checkpoint, wherever it is stored. */
export interface Checkpoint {
  /** Its reader: `ppo`, `faasrm`, ... */
  readonly kind: string;
  readonly seed: number;
  readonly counters: Readonly<Record<string, number>>;
  /** Settings it was trained with, for people and for resuming. */
  readonly configuration: { readonly [key: string]: Json };
  /** By name, in this order: `actor`, `critic`. */
  readonly networks: Readonly<Record<string, CheckpointNetwork>>;
}

export interface Expected {
  readonly kind: string;
  readonly shapes: Readonly<Record<string, NetworkShape>>;
}

/** Throws `GLN_CHECKPOINT_FOREIGN` for another kind or shape. */
export function expectCheckpoint(
  where: string,
  checkpoint: Checkpoint,
  { kind, shapes }: Expected,
): void {
  if (checkpoint.kind !== kind)
    throw new CheckpointForeignError(where, `it is of '${checkpoint.kind}', not '${kind}'`);
  for (const [name, shape] of Object.entries(shapes)) {
    const found = checkpoint.networks[name]?.shape;
    if (!found) throw new CheckpointForeignError(where, `it has no network '${name}'`);
    if (!sameShape(found, shape))
      throw new CheckpointForeignError(
        where,
        `'${name}' is ${nameOf(found)}, not ${nameOf(shape)}`,
      );
  }
}

/** Throws `GLN_NN_SHAPE` where data and shapes of what is to be written do not belong together. */
export function checkNetworks(checkpoint: Checkpoint): void {
  for (const [name, { shape, parameters, moments }] of Object.entries(checkpoint.networks)) {
    const length = parameterCount(shape);
    expectLength(`parameters of ${name}`, parameters, length);
    if (!moments) continue;
    expectLength(`first moments of ${name}`, moments.first, length);
    expectLength(`second moments of ${name}`, moments.second, length);
  }
}

const nameOf = ({ widths, activation }: NetworkShape): string =>
  `${widths.join('-')} ${activation}`;
