import { createHash } from 'node:crypto';
import { packCheckpoint, unpackCheckpoint } from '../../agents/nn/checkpoint/store.js';
import { GleanerError } from '../../config/index.js';
import { type FuzzTarget, must } from './fuzz.js';
import type { Json, Mutator } from './mutator.js';

const shape = { widths: [3, 4, 2], activation: 'tanh' as const };
/** 3 x 4 + 4 + 4 x 2 + 2 */
const PARAMETERS = 26;
const packed = packCheckpoint({
  kind: 'ppo',
  seed: 42,
  counters: { updates: 3 },
  configuration: { gamma: 0.9, hidden: [4] },
  networks: {
    actor: { shape, parameters: new Float32Array(PARAMETERS).fill(0.5), moments: null },
    critic: {
      shape,
      parameters: new Float32Array(PARAMETERS),
      moments: {
        first: new Float32Array(PARAMETERS),
        second: new Float32Array(PARAMETERS),
        steps: 17,
      },
    },
  },
});
/** Magic of 8, length of model.json as 32 bits. */
const HEAD = 12;
const length = Buffer.from(packed).readUInt32LE(8);
const model = JSON.parse(
  Buffer.from(packed.subarray(HEAD, HEAD + length)).toString('utf8'),
) as Model;
const weights = packed.subarray(HEAD + length);

interface Model {
  modelTopology: Json;
  weightsManifest: { weights: Json }[];
  userDefinedMetadata: { gleaner: { digest: string } & Record<string, Json> };
}

/** The changed model with a valid digest, as an attacker who knows the format would write it. */
function signed(changed: Model, bytes: Uint8Array): string {
  try {
    const { digest: _, ...metadata } = changed.userDefinedMetadata.gleaner;
    changed.userDefinedMetadata.gleaner.digest = createHash('sha256')
      .update(
        JSON.stringify([metadata, changed.modelTopology, changed.weightsManifest[0]!.weights]),
      )
      .update(bytes)
      .digest('hex');
  } catch {
    // What the digest is of is not there any more.
  }
  return JSON.stringify(changed);
}

function pack(text: Uint8Array, bytes: Uint8Array): Uint8Array {
  const head = Buffer.from(packed.subarray(0, HEAD));
  head.writeUInt32LE(text.length, 8);
  return Uint8Array.from(Buffer.concat([head, text, bytes]));
}

/**
 * A packed checkpoint: damaged bytes, another model.json, another one that is signed, weights that
 * are no numbers.
 */
export const checkpoints: FuzzTarget = {
  name: 'checkpoint',
  make(m: Mutator) {
    if (m.chance(0.3)) return m.bytes(packed);
    const bytes = m.chance(0.2) ? m.bytes(weights) : weights;
    const changed = m.chance(0.1)
      ? structuredClone(model)
      : (m.json(model as unknown as Json) as unknown as Model);
    const text = m.chance(0.7)
      ? Buffer.from(signed(changed, bytes))
      : m.jsonBytes(changed as unknown as Json);
    return pack(text, bytes);
  },
  check(input) {
    try {
      const { networks } = unpackCheckpoint("checkpoint 'x'", input);
      for (const network of Object.values(networks)) {
        const { widths } = network.shape;
        let count = 0;
        for (let i = 1; i < widths.length; i++) count += (widths[i - 1]! + 1) * widths[i]!;
        must(network.parameters.length === count, `${count} parameters for ${widths}`);
        must(network.parameters.every(Number.isFinite), 'weights are finite');
      }
      return 'accepted';
    } catch (error) {
      if (!(error instanceof GleanerError)) throw error;
      must(error.message.includes("checkpoint 'x'"), `it names the checkpoint: ${error.message}`);
      must(
        error.message.length < 20_000,
        `an error of bounded length, not ${error.message.length}`,
      );
      return error.code;
    }
  },
};
