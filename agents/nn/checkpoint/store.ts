import type { ObjectStore } from '../../../broker/index.js';
import { CheckpointDamagedError, CheckpointForeignError } from '../errors.js';
import type { Checkpoint, Expected } from './checkpoint.js';
import { decodeCheckpoint, encodeCheckpoint } from './layers-format.js';

const MAGIC = 'GLNCKPT1';
/** Magic, then the length of model.json as a little-endian 32-bit number. */
const HEAD = MAGIC.length + 4;

/** Model and weights in one piece, for an object store or another thread. */
export function packCheckpoint(checkpoint: Checkpoint): Uint8Array {
  const { model, weights } = encodeCheckpoint(checkpoint);
  const text = new TextEncoder().encode(model);
  const packed = new Uint8Array(HEAD + text.length + weights.length);
  packed.set(new TextEncoder().encode(MAGIC));
  new DataView(packed.buffer).setUint32(MAGIC.length, text.length, true);
  packed.set(text, HEAD);
  packed.set(weights, HEAD + text.length);
  return packed;
}

/** Throws `GLN_CHECKPOINT_DAMAGED`, `_FOREIGN` or `_NEWER`. */
export function unpackCheckpoint(
  where: string,
  packed: Uint8Array,
  expected?: Expected,
): Checkpoint {
  if (new TextDecoder().decode(packed.subarray(0, MAGIC.length)) !== MAGIC)
    throw new CheckpointForeignError(where, 'Gleaner has not written it');
  const length =
    packed.length < HEAD
      ? -1
      : new DataView(packed.buffer, packed.byteOffset).getUint32(MAGIC.length, true);
  if (length < 0 || packed.length < HEAD + length)
    throw new CheckpointDamagedError(where, 'it ends too early');
  const text = new TextDecoder().decode(packed.subarray(HEAD, HEAD + length));
  return decodeCheckpoint(where, text, packed.subarray(HEAD + length), expected);
}

/** Checkpoints by name in the broker's object store. */
export class PolicyStore {
  readonly #objects: ObjectStore;

  constructor(objects: ObjectStore) {
    this.#objects = objects;
  }

  save(name: string, checkpoint: Checkpoint): Promise<void> {
    return this.#objects.put(name, packCheckpoint(checkpoint));
  }

  /** Null if there is none. */
  async load(name: string, expected?: Expected): Promise<Checkpoint | null> {
    const packed = await this.#objects.get(name);
    return packed && unpackCheckpoint(`checkpoint '${name}'`, packed, expected);
  }

  delete(name: string): Promise<void> {
    return this.#objects.delete(name);
  }
}
