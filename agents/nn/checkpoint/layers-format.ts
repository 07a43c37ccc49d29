import { createHash } from 'node:crypto';
import { z } from 'zod';
import { CheckpointDamagedError, CheckpointForeignError, CheckpointNewerError } from '../errors.js';
import { layersOf, type NetworkShape, parameterCount } from '../shape.js';
import {
  type Checkpoint,
  type CheckpointNetwork,
  checkNetworks,
  type Expected,
  expectCheckpoint,
} from './checkpoint.js';

/** Rises with every change that an older Gleaner could not read. */
export const CHECKPOINT_VERSION = 1;

/**
 * TensorFlow.js' layers format, one chain of dense layers per network, so that `tf.loadLayersModel`
 * opens it. Ours stands under `userDefinedMetadata.gleaner`, Adam's moments in group `optimizer`.
 */
export interface LayersFormat {
  /** model.json. */
  readonly model: string;
  /** Carries the weights' digest, so that halves of two checkpoints never meet. */
  readonly weightsFile: string;
  readonly weights: Uint8Array;
}

interface WeightSpec {
  readonly name: string;
  readonly shape: readonly number[];
  readonly dtype: 'float32';
  readonly group?: 'optimizer';
}

const shapeSchema = z.object({
  widths: z.array(z.int().min(1).max(1024)).min(2),
  activation: z.enum(['tanh', 'relu']),
});

const metadataSchema = z.object({
  version: z.int().min(1),
  kind: z.string().max(64),
  seed: z.number(),
  counters: z.record(z.string(), z.number()),
  configuration: z.record(z.string(), z.json()),
  networks: z.record(
    z.string(),
    z.object({ shape: shapeSchema, adamSteps: z.int().min(0).nullable() }),
  ),
  digest: z.string(),
});

/** As much of model.json as is read; the rest is covered by the digest. */
const modelSchema = z.object({
  modelTopology: z.unknown(),
  weightsManifest: z.tuple([
    z.object({ paths: z.tuple([z.string()]), weights: z.array(z.unknown()) }),
  ]),
  userDefinedMetadata: z.object({ gleaner: metadataSchema }),
});

export function encodeCheckpoint(checkpoint: Checkpoint): LayersFormat {
  checkNetworks(checkpoint);
  const networks = Object.entries(checkpoint.networks);
  const specs = networks.flatMap(([name, network]) => [
    ...weightSpecs(name, network.shape),
    ...(network.moments ? momentSpecs(name, network.shape) : []),
  ]);
  const arrays = networks.flatMap(([, { parameters, moments }]) =>
    moments ? [parameters, moments.first, moments.second] : [parameters],
  );
  const weights = new Uint8Array(arrays.reduce((sum, array) => sum + array.byteLength, 0));
  let at = 0;
  for (const array of arrays) {
    weights.set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength), at);
    at += array.byteLength;
  }
  const metadata = {
    version: CHECKPOINT_VERSION,
    kind: checkpoint.kind,
    seed: checkpoint.seed,
    counters: checkpoint.counters,
    configuration: checkpoint.configuration,
    networks: Object.fromEntries(
      networks.map(([name, { shape, moments }]) => [
        name,
        { shape, adamSteps: moments?.steps ?? null },
      ]),
    ),
  };
  const modelTopology = topology(checkpoint.kind, networks);
  const digest = digestOf(metadata, modelTopology, specs, weights);
  const weightsFile = `weights-${digest.slice(0, 16)}.bin`;
  const model = JSON.stringify({
    format: 'layers-model',
    generatedBy: 'Gleaner',
    convertedBy: null,
    modelTopology,
    weightsManifest: [{ paths: [weightsFile], weights: specs }],
    userDefinedMetadata: { gleaner: { ...metadata, digest } },
  });
  return { model, weightsFile, weights };
}

const gleanerPart = (model: unknown): { readonly version?: unknown } | undefined =>
  (model as { userDefinedMetadata?: { gleaner?: { version?: unknown } } } | null)
    ?.userDefinedMetadata?.gleaner;

/** Version of the format of a model.json; 0 if it has none. */
export function modelVersion(model: unknown): number {
  const version = gleanerPart(model)?.version;
  return typeof version === 'number' ? version : 0;
}

/** Name of the weights file that a model.json asks for; checks who wrote it, and when. */
export function readModel(
  where: string,
  text: string,
): { model: z.infer<typeof modelSchema>; weightsFile: string } {
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch (error) {
    throw new CheckpointDamagedError(where, 'model.json is not JSON', error);
  }
  if (gleanerPart(raw) === undefined)
    throw new CheckpointForeignError(where, 'Gleaner has not written it');
  const version = modelVersion(raw);
  if (version > CHECKPOINT_VERSION)
    throw new CheckpointNewerError(where, version, CHECKPOINT_VERSION);
  const parsed = modelSchema.safeParse(raw);
  if (!parsed.success) throw new CheckpointDamagedError(where, z.prettifyError(parsed.error));
  const weightsFile = parsed.data.weightsManifest[0].paths[0];
  // A name, never a path: model.json is untrusted input.
  if (!/^weights-[0-9a-f]{16}\.bin$/.test(weightsFile))
    throw new CheckpointDamagedError(
      where,
      `'${weightsFile.slice(0, 80)}' is no weights file of ours`,
    );
  return { model: parsed.data, weightsFile };
}

/** Throws `GLN_CHECKPOINT_DAMAGED`, `_FOREIGN` or `_NEWER`; `where` names it to people. */
export function decodeCheckpoint(
  where: string,
  text: string,
  weights: Uint8Array,
  expected?: Expected,
): Checkpoint {
  const { model } = readModel(where, text);
  const { digest, ...metadata } = model.userDefinedMetadata.gleaner;
  const { version: _, networks: described, ...rest } = metadata;
  const floats = Object.values(described).reduce(
    (sum, { shape, adamSteps }) => sum + parameterCount(shape) * (adamSteps === null ? 1 : 3),
    0,
  );
  if (weights.byteLength !== 4 * floats)
    throw new CheckpointDamagedError(
      where,
      `${weights.byteLength} bytes of weights where ${4 * floats} belong`,
    );
  if (digestOf(metadata, model.modelTopology, model.weightsManifest[0].weights, weights) !== digest)
    throw new CheckpointDamagedError(where, 'its digest does not fit its contents');
  // A copy that begins at 0: `slice` of a Buffer, as NATS gives it, is a view into what came with
  // it.
  const data = new Float32Array(new Uint8Array(weights).buffer);
  if (!data.every(Number.isFinite))
    throw new CheckpointDamagedError(where, 'a weight is not finite');
  let at = 0;
  const take = (length: number): Float32Array => {
    at += length;
    return data.slice(at - length, at);
  };
  const networks: Record<string, CheckpointNetwork> = {};
  for (const [name, { shape, adamSteps }] of Object.entries(described)) {
    const length = parameterCount(shape);
    const parameters = take(length);
    const moments =
      adamSteps === null ? null : { first: take(length), second: take(length), steps: adamSteps };
    networks[name] = { shape, parameters, moments };
  }
  const checkpoint: Checkpoint = { ...rest, networks };
  if (expected) expectCheckpoint(where, checkpoint, expected);
  return checkpoint;
}

function digestOf(
  metadata: object,
  modelTopology: unknown,
  specs: readonly unknown[],
  weights: Uint8Array,
): string {
  return createHash('sha256')
    .update(JSON.stringify([metadata, modelTopology, specs]))
    .update(weights)
    .digest('hex');
}

const layerName = (network: string, layer: number): string => `${network}_${layer + 1}`;

function weightSpecs(network: string, shape: NetworkShape): WeightSpec[] {
  return layersOf(shape).flatMap(({ inputs, outputs }, i): WeightSpec[] => [
    { name: `${layerName(network, i)}/kernel`, shape: [inputs, outputs], dtype: 'float32' },
    { name: `${layerName(network, i)}/bias`, shape: [outputs], dtype: 'float32' },
  ]);
}

const momentSpecs = (network: string, shape: NetworkShape): WeightSpec[] =>
  ['first', 'second'].map((which) => ({
    name: `${network}/adam_${which}`,
    shape: [parameterCount(shape)],
    dtype: 'float32',
    group: 'optimizer',
  }));

function topology(
  kind: string,
  networks: readonly (readonly [string, CheckpointNetwork])[],
): object {
  const chain = (name: string, shape: NetworkShape): object[] => [
    {
      class_name: 'InputLayer',
      name: `${name}_input`,
      config: {
        batch_input_shape: [null, shape.widths[0]],
        dtype: 'float32',
        sparse: false,
        name: `${name}_input`,
      },
      inbound_nodes: [],
    },
    ...layersOf(shape).map(({ outputs }, i, all) => ({
      class_name: 'Dense',
      name: layerName(name, i),
      config: {
        units: outputs,
        activation: i === all.length - 1 ? 'linear' : shape.activation,
        use_bias: true,
        name: layerName(name, i),
        trainable: true,
        dtype: 'float32',
      },
      inbound_nodes: [[[i === 0 ? `${name}_input` : layerName(name, i - 1), 0, 0, {}]]],
    })),
  ];
  return {
    keras_version: 'tfjs-layers 4.22.0',
    backend: 'tensor_flow.js',
    model_config: {
      class_name: 'Functional',
      config: {
        name: kind,
        trainable: true,
        layers: networks.flatMap(([name, { shape }]) => chain(name, shape)),
        input_layers: networks.map(([name]) => [`${name}_input`, 0, 0]),
        output_layers: networks.map(([name, { shape }]) => [
          layerName(name, shape.widths.length - 2),
          0,
          0,
        ]),
      },
    },
  };
}
