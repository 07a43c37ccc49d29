import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import type { Logger } from '../../broker/index.js';
import { type Millis, managers } from '../../config/index.js';
import type { Decided, ResourceManager, View } from '../resource-manager.js';
import { validated } from '../validation.js';
import { type ExternalSettings, ExternalThread, type ThreadTimes } from './external-thread.js';
import { ManagerModuleError } from './module-path.js';

/** With phase and description, so that inspection does not call the module. */
interface ExternalState {
  readonly begun: boolean;
  readonly fn: string;
  readonly inner: unknown;
  readonly phase: string;
  readonly about: string | null;
}

const step = z.number().min(-1).max(1);
const optionalAmount = z.number().optional();
const aboutSchema = z.object({
  state: z.unknown(),
  phase: z.string().min(1).max(64),
  about: z.string().max(512).nullable(),
});
const decidedSchema = aboutSchema.extend({
  decided: z.object({
    decision: z.strictObject({
      cpu: optionalAmount,
      memory: optionalAmount,
      weightFactor: optionalAmount,
      containers: optionalAmount,
      concurrency: optionalAmount,
      nominalMemory: optionalAmount,
      actions: z.tuple([step, step, step]),
    }),
    reward: z.number().optional(),
    transitions: z
      .array(
        z.object({ from: z.string().max(64), to: z.string().max(64), reason: z.string().max(512) }),
      )
      .optional(),
  }),
});
const manifestSchema = z.object({ name: z.string(), can: z.array(z.string()) });

/** Validates a module's answer. Throws a ManagerModuleError that names the field. */
function checked<S extends z.ZodType>(schema: S, value: unknown, file: string): z.output<S> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const { path, message } = parsed.error.issues[0]!;
  throw new ManagerModuleError(
    file,
    `it answers ${path.join('.') || 'something else'}: ${message}`,
  );
}

export interface ExternalManager {
  readonly manager: ResourceManager;
  close(): Promise<void>;
}

/**
 * Runs a module in its own thread: if it throws, loops, exits or exhausts memory, only its
 * functions run at user limits. Its state is copied, so it must be plain data. Rejects with a
 * ManagerModuleError.
 */
export async function loadExternalManager(
  file: string,
  settings: ExternalSettings,
  logger?: Logger,
  times?: ThreadTimes,
): Promise<ExternalManager> {
  const data = { url: pathToFileURL(file).href, settings, builtIn: managers };
  const thread = new ExternalThread(file, data, logger, times);
  const { name, can } = checked(manifestSchema, await thread.start(), file);
  const stateOf = (fn: string, value: unknown): ExternalState => {
    const { state, phase, about } = checked(aboutSchema, value, file);
    return { begun: true, fn, inner: state, phase, about };
  };
  const manager: ResourceManager<ExternalState> = {
    name,
    initialState: (fn) => ({ begun: false, fn, inner: null, phase: 'managing', about: null }),
    decide: ({ fn, begun, inner }, { random, ...view }: View, now: Millis) => {
      const seed = random.below(2 ** 32);
      const answer = checked(
        decidedSchema,
        thread.call({ method: 'decide', fn, begun, state: inner, view, seed, now }),
        file,
      );
      return { ...answer.decided, state: stateOf(fn, answer) } as Decided<ExternalState>;
    },
    phase: ({ phase }) => phase,
    ...(can.includes('about') ? { about: ({ about }: ExternalState) => about ?? '' } : {}),
    ...(can.includes('saveState')
      ? {
          saveState: ({ begun, inner }: ExternalState, now: Millis) =>
            begun ? quietly(() => thread.call({ method: 'saveState', state: inner, now })) : null,
          loadState: (fn: string, saved: unknown, now: Millis) => {
            const loaded = quietly(() => thread.call({ method: 'loadState', fn, saved, now }));
            return loaded === null ? null : quietly(() => stateOf(fn, loaded));
          },
        }
      : {}),
    ...(can.includes('retrain')
      ? {
          retrain: (state: ExternalState) =>
            stateOf(state.fn, thread.call({ method: 'retrain', state: state.inner })),
        }
      : {}),
  };
  return {
    manager: validated(manager, settings.cap) as ResourceManager,
    close: () => thread.close(),
  };
}

/** Null on an error: the function then starts from scratch. */
function quietly<T>(ask: () => T): T | null {
  try {
    return ask();
  } catch {
    return null;
  }
}
