/** The thread of an external manager (external-manager.ts): it loads and runs one module. */
import { type MessagePort, workerData } from 'node:worker_threads';
import { messageOf, SeededRandom } from '../../config/index.js';
import type { ResourceManager, View } from '../resource-manager.js';
import type { ExternalAnswer, ExternalCall, ExternalThreadData } from './external-thread.js';

const { url, settings, builtIn, port, signal } = workerData as ExternalThreadData & {
  readonly port: MessagePort;
};
const flag = new Int32Array(signal);

/** `id`: of the call; 0 for the result of loading, which no call waits for. */
function answer(message: ExternalAnswer, id: number): void {
  let sent: ExternalAnswer = message;
  try {
    port.postMessage(sent);
  } catch (error) {
    sent = {
      error: `its state or decision cannot be copied (plain data only): ${messageOf(error)}`,
    };
    port.postMessage(sent);
  }
  if (id === 0) return;
  Atomics.store(flag, 0, id);
  Atomics.notify(flag, 0);
}

const REQUIRED = ['initialState', 'decide', 'phase'] as const;
const OPTIONAL = ['saveState', 'loadState', 'about', 'retrain'] as const;

/** Throws a TypeError that names the missing or wrong member. */
async function load(): Promise<ResourceManager> {
  const module = (await import(url)) as { readonly default?: unknown };
  if (typeof module.default !== 'function')
    throw new TypeError('it has no default export that is a function');
  const made: unknown = await (module.default as (given: unknown) => unknown)(settings);
  if (typeof made !== 'object' || made === null)
    throw new TypeError('its function returns no manager object');
  const manager = made as Record<string, unknown>;
  const { name } = manager;
  if (typeof name !== 'string' || !/^[a-z0-9][a-z0-9-]{0,63}$/.test(name))
    throw new TypeError('`name` must be 1 to 64 lower-case letters, digits and dashes');
  if (builtIn.includes(name))
    throw new TypeError(`\`name\` '${name}' is that of a manager of Gleaner's own`);
  for (const member of REQUIRED)
    if (typeof manager[member] !== 'function')
      throw new TypeError(`\`${member}\` must be a function`);
  for (const member of OPTIONAL)
    if (manager[member] !== undefined && typeof manager[member] !== 'function')
      throw new TypeError(`\`${member}\` must be a function or absent`);
  if ((manager.saveState === undefined) !== (manager.loadState === undefined))
    throw new TypeError('`saveState` and `loadState` need each other');
  return made as ResourceManager;
}

function run(manager: ResourceManager, call: ExternalCall): ExternalAnswer {
  const about = (state: unknown) => ({
    state,
    phase: String(manager.phase(state)),
    about: manager.about === undefined ? null : String(manager.about(state)),
  });
  switch (call.method) {
    case 'decide': {
      const before = call.begun ? call.state : manager.initialState(call.fn);
      const view = { ...call.view, random: new SeededRandom(call.seed) } as View;
      const { state, ...decided } = manager.decide(before, view, call.now);
      return { value: { ...about(state), decided } };
    }
    case 'saveState':
      return { value: manager.saveState?.(call.state, call.now) ?? null };
    case 'loadState': {
      const loaded = manager.loadState?.(call.fn, call.saved, call.now) ?? null;
      return { value: loaded === null ? null : about(loaded) };
    }
    case 'retrain':
      return { value: about(manager.retrain?.(call.state) ?? call.state) };
  }
}

// If the module does not load, the thread ends with the error, which its starter receives.
const manager = await load();
port.on('message', ({ id, call }: { readonly id: number; readonly call: ExternalCall }) => {
  try {
    answer(run(manager, call), id);
  } catch (error) {
    answer({ error: messageOf(error) }, id);
  }
});
const can = OPTIONAL.filter((member) => manager[member] !== undefined);
answer({ value: { name: manager.name, can } }, 0);
