import { messageOf } from '../../config/index.js';
import { ENGINES, type Engine, type EngineName } from './engine.js';
import { EngineUnavailableError } from './errors.js';
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
    throw new EngineUnavailableError(name, error);
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

export interface EngineFinding {
  readonly name: EngineName;
  readonly engine: Engine | null;
  /** What runs, or why nothing does. */
  readonly detail: string;
}

/** Every engine, loaded or with the reason why not. */
export async function findEngines(warn: (text: string) => void): Promise<EngineFinding[]> {
  const findings: EngineFinding[] = [];
  for (const name of ENGINES) {
    try {
      const engine = await loadEngine(name, warn);
      findings.push({ name, engine, detail: engine.detail });
    } catch (error) {
      findings.push({ name, engine: null, detail: messageOf(error) });
    }
  }
  return findings;
}
