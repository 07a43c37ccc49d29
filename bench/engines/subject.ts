import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import {
  type Engine,
  JsEngine,
  orthogonal,
  projectPackages,
  SimdEngine,
  speedActor,
  TensorFlowEngine,
  timeEngine,
  timePerCall,
} from '../../agents/nn/index.js';
import { SeededRandom } from '../../config/index.js';

/**
 * One engine in a process of its own, as TensorFlow.js keeps one backend per process. It measures
 * when it is told to and is idle otherwise, so that engines are measured in turn in one run.
 */
export const SUBJECTS = ['simd', 'js', 'tfjs-wasm', 'tfjs-cpu', 'tfjs-node'] as const;
export type Subject = (typeof SUBJECTS)[number];

export interface Order {
  readonly millis: number;
}

export interface Answer {
  readonly detail: string;
  readonly forwardMicros: number;
  readonly ppoMillis: number;
  /** Of a decision by one of a thousand agents; simd and js only. */
  readonly thousandMicros: number | null;
}

const AGENTS = 1000;

async function load(subject: Subject): Promise<Engine> {
  if (subject === 'simd') return new SimdEngine();
  if (subject === 'js') return new JsEngine();
  if (subject === 'tfjs-node') {
    const engine = await TensorFlowEngine.load(() => {});
    if (!engine.native) throw new Error('no native library: npm run tensorflow:install');
    return engine;
  }
  const tf = await projectPackages.load('@tensorflow/tfjs');
  tf.enableProdMode();
  if (subject === 'tfjs-wasm') {
    const require = createRequire(import.meta.url);
    const name = '@tensorflow/tfjs-backend-wasm';
    const wasm = require(name) as typeof import('@tensorflow/tfjs-backend-wasm');
    wasm.setWasmPaths(`${dirname(require.resolve(name))}/`);
    await tf.setBackend('wasm');
    const simd = await tf.env().getAsync('WASM_HAS_SIMD_SUPPORT');
    return new TensorFlowEngine({
      tf,
      detail: `tfjs ${tf.version_core}, wasm, SIMD ${simd}`,
      native: false,
    });
  }
  await tf.setBackend('cpu');
  return new TensorFlowEngine({ tf, detail: `tfjs ${tf.version_core}, cpu`, native: false });
}

/** A thousand agents with their own weights, decided for in an order that no cache foresees. */
function thousand(engine: Engine): (millis: number) => number {
  const random = new SeededRandom(1);
  const weights = orthogonal(speedActor, 1, random.fork('weights'));
  const agents = Array.from({ length: AGENTS }, () => {
    const network = engine.network(speedActor);
    network.import(weights.map((w) => w * (0.9 + 0.2 * random.next())));
    return network;
  });
  const order = Array.from({ length: AGENTS }, (_, i) => i);
  for (let i = AGENTS - 1; i > 0; i--) {
    const j = random.below(i + 1);
    [order[i], order[j]] = [order[j]!, order[i]!];
  }
  const inputs = agents.map(() => Float32Array.from({ length: 20 }, () => random.next()));
  const output = new Float32Array(10);
  const round = (): void => {
    for (const i of order) agents[i]!.forward(inputs[i]!, output);
  };
  return (millis) => (1000 * timePerCall(round, millis)) / AGENTS;
}

if (process.send) {
  const send = process.send.bind(process) as (message: unknown) => void;
  try {
    const engine = await load(process.argv[2] as Subject);
    const decide = engine.name === 'tensorflow' ? null : thousand(engine);
    process.on('message', ({ millis }: Order) => {
      const { forwardMicros, ppoMillis } = timeEngine(engine, millis);
      const answer: Answer = {
        detail: engine.detail,
        forwardMicros,
        ppoMillis,
        thousandMicros: decide ? decide(millis) : null,
      };
      send(answer);
    });
    send('ready');
  } catch (error) {
    send(String(error));
    process.disconnect();
  }
}
