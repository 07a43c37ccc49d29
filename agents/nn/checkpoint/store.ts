import type { ObjectStore } from '../../../broker/index.js';
import { NewerObjects, type VersionOf } from '../../newer-objects.js';
import { CheckpointDamagedError, CheckpointForeignError } from '../errors.js';
import type { Checkpoint, Expected } from './checkpoint.js';
import {
  CHECKPOINT_VERSION,
  decodeCheckpoint,
  encodeCheckpoint,
  modelVersion,
} from './layers-format.js';

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

/** Length of model.json; null: Gleaner has not written it, negative: it ends too early. */
function modelLength(packed: Uint8Array): number | null {
  if (new TextDecoder().decode(packed.subarray(0, MAGIC.length)) !== MAGIC) return null;
  if (packed.length < HEAD) return -1;
  const view = new DataView(packed.buffer, packed.byteOffset);
  const length = view.getUint32(MAGIC.length, true);
  return packed.length < HEAD + length ? -1 : length;
}

const packedVersion: VersionOf = (packed) => {
  const length = modelLength(packed);
  if (length === null || length < 0) return 0;
  try {
    const model: unknown = JSON.parse(
      new TextDecoder().decode(packed.subarray(HEAD, HEAD + length)),
    );
    return modelVersion(model);
  } catch {
    return 0;
  }
};

/** Throws `GLN_CHECKPOINT_DAMAGED`, `_FOREIGN` or `_NEWER`. */
export function unpackCheckpoint(
  where: string,
  packed: Uint8Array,
  expected?: Expected,
): Checkpoint {
  const length = modelLength(packed);
  if (length === null) throw new CheckpointForeignError(where, 'Gleaner has not written it');
  if (length < 0) throw new CheckpointDamagedError(where, 'it ends too early');
  const text = new TextDecoder().decode(packed.subarray(HEAD, HEAD + length));
  return decodeCheckpoint(where, text, packed.subarray(HEAD + length), expected);
}

/** Checkpoints by name in the broker's object store. */
export class PolicyStore {
  readonly #objects: ObjectStore;

  constructor(objects: ObjectStore, newer = new NewerObjects()) {
    this.#objects = newer.beside(objects, CHECKPOINT_VERSION, packedVersion);
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
