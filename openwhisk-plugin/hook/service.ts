import { z } from 'zod';
import { isFunctionName, modeField, type ServiceHandler } from '../../broker/index.js';
import { GleanerError } from '../../config/index.js';
import type { Hook } from './hook.js';

export class HookRequestError extends GleanerError {
  readonly code = 'GLN_HOOK_REQUEST';
}

const author = z.string().max(128).default('service');
const name = z.string().refine(isFunctionName, 'is not the name of an action');
const onFunction = z.object({ function: name, author });
const requests = {
  explain: z.object({ function: name }),
  mode: z.object({ function: name.optional(), mode: modeField.nullable().optional(), author }),
  restore: z
    .object({ hold: z.boolean().optional(), release: z.boolean().optional(), author })
    .default({ author: 'service' }),
  pause: onFunction,
  resume: onFunction,
};

function parse<S extends z.ZodType>(schema: S, request: unknown): z.output<S> {
  const checked = schema.safeParse(request);
  if (checked.success) return checked.data;
  const issue = checked.error.issues[0];
  throw new HookRequestError(`${issue?.path.join('.') || 'request'}: ${issue?.message ?? 'not valid'}`, {
    hint: 'see openwhisk-plugin/hook/README.md for what each endpoint takes',
  });
}

/** Endpoints of the service `gleaner-hook` (design §5). Every change is audited under its author's name. */
export function hookEndpoints(hook: Hook): Record<string, ServiceHandler> {
  return {
    list: () => ({ host: hook.hostView(), functions: hook.functionNames() }),
    inspect: () => hook.inspect(),
    explain: (request) => {
      const asked = parse(requests.explain, request);
      return { function: asked.function, activations: hook.explain(asked.function) };
    },
    mode: (request) => {
      const asked = parse(requests.mode, request);
      if (asked.mode !== undefined) hook.setMode(asked.mode ?? undefined, asked.function, asked.author);
      return { host: hook.hostView().host, mode: hook.modeOf(asked.function), killed: hook.killed };
    },
    restore: async (request) => {
      const asked = parse(requests.restore, request);
      if (asked.release) hook.kill('service', false);
      else if (asked.hold) hook.kill('service', true);
      return asked.release ? { restored: 0, failed: 0 } : hook.restoreAll(`operator:${asked.author}`, 'asked');
    },
    pause: (request) => {
      const asked = parse(requests.pause, request);
      hook.pause(asked.function, true, asked.author);
      return { function: asked.function, paused: true };
    },
    resume: (request) => {
      const asked = parse(requests.resume, request);
      hook.pause(asked.function, false, asked.author);
      return { function: asked.function, paused: false };
    },
  };
}
