import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { messageOf } from '../../../config/index.js';
import {
  CheckpointDamagedError,
  CheckpointForeignError,
  CheckpointMissingError,
  CheckpointNewerError,
  parameterCount,
  writeDurably,
} from '../../nn/index.js';
import { type LearnerState, type PpoAgentShape, ppoShapes } from '../../ppo/index.js';
import { Encoder, type EncoderShape } from './encoder.js';

const VERSION = 1;
const KIND = 'gleaner-meta';
const MODEL = 'meta.json';

/** A meta-learner with the base-learner that it conditions. */
export interface MetaLearner {
  readonly encoder: Encoder;
  readonly base: LearnerState;
  /** The base-learner's shape: its input ends with the embedding. */
  readonly shape: PpoAgentShape;
  readonly hidden: readonly number[];
}

const headSchema = z.object({
  v: z.int().min(1),
  kind: z.string(),
  encoder: z.object({ width: z.int().min(1), hidden: z.int().min(1), embedding: z.int().min(1) }),
  base: z.object({
    features: z.int().min(1),
    actions: z.int().min(1),
    hidden: z.array(z.int().min(1)),
  }),
  updates: z.int().min(0),
  steps: z.int().min(0),
  weightsFile: z.string().regex(/^weights-[0-9a-f]{16}\.bin$/),
  /** How it was trained, for people. */
  trained: z.unknown(),
});

const hashOf = (weights: Uint8Array): string =>
  createHash('sha256').update(weights).digest('hex').slice(0, 16);

/** Weights first, description last: a reader finds the old pair or the new one. */
export async function saveMeta(
  folder: string,
  { encoder, base, shape, hidden }: MetaLearner,
  trained: unknown,
): Promise<void> {
  const parts = [encoder.recurrent, encoder.head.export(), base.actor, base.critic];
  const numbers = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    numbers.set(part, at);
    at += part.length;
  }
  // Little-endian, as every machine that runs Node is.
  const weights = new Uint8Array(numbers.buffer);
  const weightsFile = `weights-${hashOf(weights)}.bin`;
  await mkdir(folder, { recursive: true });
  await writeDurably(join(folder, weightsFile), weights);
  const head = {
    v: VERSION,
    kind: KIND,
    encoder: encoder.shape,
    base: { features: shape.features, actions: shape.actions, hidden },
    ...base.counters,
    weightsFile,
    trained,
  };
  await writeDurably(join(folder, MODEL), `${JSON.stringify(head, null, 2)}\n`);
  for (const file of await readdir(folder))
    if (/^weights-.*\.bin$/.test(file) && file !== weightsFile)
      await rm(join(folder, file), { force: true });
}

/** Throws `GLN_CHECKPOINT_MISSING`, `_DAMAGED`, `_FOREIGN` or `_NEWER`. */
export function loadMeta(folder: string): MetaLearner {
  const path = join(folder, MODEL);
  if (!existsSync(path)) throw new CheckpointMissingError(folder);
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new CheckpointDamagedError(path, messageOf(error), error);
  }
  const { v, kind } = (json ?? {}) as { v?: unknown; kind?: unknown };
  if (kind !== KIND)
    throw new CheckpointForeignError(path, `it is of '${String(kind)}', not '${KIND}'`);
  if (typeof v === 'number' && v > VERSION) throw new CheckpointNewerError(path, v, VERSION);
  const head = headSchema.safeParse(json);
  if (!head.success)
    throw new CheckpointDamagedError(path, z.prettifyError(head.error), head.error);
  const { encoder: size, base, weightsFile, updates, steps } = head.data;
  const file = join(folder, weightsFile);
  if (!existsSync(file)) throw new CheckpointDamagedError(file, 'its weights are missing');
  const weights = readFileSync(file);
  if (weightsFile !== `weights-${hashOf(weights)}.bin`)
    throw new CheckpointDamagedError(file, 'its content does not match the hash in its name');
  return metaLearnerOf(
    path,
    size,
    base,
    { updates, steps },
    new Float32Array(Uint8Array.from(weights).buffer),
  );
}

function metaLearnerOf(
  path: string,
  size: EncoderShape,
  { features, actions, hidden }: { features: number; actions: number; hidden: readonly number[] },
  counters: LearnerState['counters'],
  numbers: Float32Array,
): MetaLearner {
  const encoder = new Encoder(size);
  const { actor, critic } = ppoShapes({ features, actions }, { hidden });
  const lengths = [
    encoder.recurrent.length,
    encoder.head.parameters.length,
    parameterCount(actor),
    parameterCount(critic),
  ];
  const length = lengths.reduce((sum, one) => sum + one, 0);
  if (numbers.length !== length)
    throw new CheckpointDamagedError(path, `${numbers.length} weights where ${length} belong`);
  const wrong = numbers.findIndex((value) => !Number.isFinite(value));
  if (wrong >= 0) throw new CheckpointDamagedError(path, `weight ${wrong} is ${numbers[wrong]}`);
  let at = 0;
  const [recurrent, head, actorWeights, criticWeights] = lengths.map((count) => {
    at += count;
    return numbers.slice(at - count, at);
  });
  encoder.recurrent.set(recurrent!);
  encoder.head.import(head!);
  const none = (count: number) => ({
    first: new Float32Array(count),
    second: new Float32Array(count),
    steps: 0,
  });
  const base: LearnerState = {
    actor: actorWeights!,
    critic: criticWeights!,
    actorMoments: none(lengths[2]!),
    criticMoments: none(lengths[3]!),
    counters,
  };
  return { encoder, base, shape: { features, actions }, hidden };
}

const SHIPPED = fileURLToPath(
  new URL('../../../../agents/aware/meta-learner/shipped/', import.meta.url),
);
let shipped: MetaLearner | undefined;

/** The one that comes with the product (docs/model-card.md); read once a thread. */
export function shippedMeta(): MetaLearner {
  shipped ??= loadMeta(SHIPPED);
  return shipped;
}
