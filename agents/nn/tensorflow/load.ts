import { createRequire } from 'node:module';
import { messageOf } from '../../../config/index.js';

export type TensorFlow = typeof import('@tensorflow/tfjs');

export interface LoadedTensorFlow {
  readonly tf: TensorFlow;
  /** `tfjs-node 4.22.0, native library 2.13.1`, or `tfjs 4.22.0, backend cpu`. */
  readonly detail: string;
  readonly native: boolean;
}

/** Where a package is looked for; a test gives its own. */
export interface Packages {
  /** Throws or rejects without the package, its native library, or a Node that it knows. */
  load(name: '@tensorflow/tfjs-node' | '@tensorflow/tfjs'): Promise<TensorFlow> | TensorFlow;
}

/** From dist/agents/nn/tensorflow; `npm run tensorflow:install` fills it. */
const installed = new URL('../../../../.tensorflow/', import.meta.url);

/** The project's own packages first, then those of `tensorflow:install`. */
export const projectPackages: Packages = {
  load(name) {
    // The library's notes about processors go to stderr otherwise.
    process.env.TF_CPP_MIN_LOG_LEVEL ??= '2';
    try {
      return createRequire(import.meta.url)(name) as TensorFlow;
    } catch (error) {
      if (name !== '@tensorflow/tfjs-node') throw error;
      try {
        return createRequire(installed)(name) as TensorFlow;
      } catch (second) {
        throw new Error(`${firstLine(error)}; ${firstLine(second)}`, { cause: error });
      }
    }
  },
};

const firstLine = (error: unknown): string => messageOf(error).split('\n')[0]!;

/**
 * tfjs-node if its native library computes (on Node 23 and later its kernels throw), otherwise the
 * package without native code, with one warning.
 */
export async function loadTensorFlow(
  warn: (text: string) => void,
  packages: Packages = projectPackages,
): Promise<LoadedTensorFlow> {
  try {
    const tf = await packages.load('@tensorflow/tfjs-node');
    selfTest(tf);
    if (tf.getBackend() !== 'tensorflow') throw new Error(`its backend is '${tf.getBackend()}'`);
    const library =
      (tf as { version?: { 'tfjs-node'?: string } }).version?.['tfjs-node'] ?? tf.version_core;
    return { tf, detail: `tfjs-node ${library}, native library`, native: true };
  } catch (error) {
    const tf = await packages.load('@tensorflow/tfjs');
    // Without the package's banner about tfjs-node: what there is to say is said once, by `warn`.
    tf.enableProdMode();
    // The package has no other backend that runs in Node.
    await tf.setBackend('cpu');
    selfTest(tf);
    warn(
      `cannot run tfjs-node: ${firstLine(error)}; using @tensorflow/tfjs ` +
        '(npm run tensorflow:install installs tfjs-node)',
    );
    return {
      tf,
      detail: `tfjs ${tf.version_core}, backend ${tf.getBackend()}, no native library`,
      native: false,
    };
  }
}

/** (1 2)(3 4)' = 11, and the gradient of a sum of squares: what an engine is made of. */
function selfTest(tf: TensorFlow): void {
  tf.tidy(() => {
    const product = tf.matMul(tf.tensor2d([[1, 2]]), tf.tensor2d([[3], [4]])).dataSync()[0];
    if (product !== 11) throw new Error(`its matMul gives ${product} instead of 11`);
    const slope = tf
      .grad((x) => tf.sum(tf.square(x)))(tf.tensor1d([3]))
      .dataSync()[0];
    if (slope !== 6) throw new Error(`its gradient is ${slope} instead of 6`);
  });
}
