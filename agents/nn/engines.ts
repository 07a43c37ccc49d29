import { messageOf } from '../../config/index.js';
import { ENGINES, type Engine, type EngineName } from './engine.js';
import { NetworkEngineError } from './errors.js';
import { JsEngine } from './js/engine.js';
import { SimdEngine } from './simd/engine.js';
import { TensorFlowEngine } from './tensorflow/engine.js';

/** An engine by name. Rejects with `GLN_NN_ENGINE` where it does not run here. */
export async function loadEngine(name: EngineName, warn: (text: string) => void): Promise<Engine> {
  try {
    if (name === 'simd') return new SimdEngine();
    if (name === 'js') return new JsEngine();
    if (name === 'tensorflow') return await TensorFlowEngine.load(warn);
    throw new Error(`the engines are ${ENGINES.join(', ')}`);
  } catch (error) {
    throw new NetworkEngineError(name, error);
  }
}

/** `simd` where it runs, else `js`, with one warning. */
export function defaultEngine(
  warn: (text: string) => void,
  first: () => Engine = () => new SimdEngine(),
): Engine {
  try {
    return first();
  } catch (error) {
    warn(
      `cannot run the WebAssembly kernels: ${messageOf(error)}; ` +
        "using engine 'js' (npm run build builds the kernels)",
    );
    return new JsEngine();
  }
}
