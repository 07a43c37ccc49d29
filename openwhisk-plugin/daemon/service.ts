import {
  contractedEndpoints,
  hookService,
  type ServiceEndpoint,
} from '../../broker/services/index.js';
import type { Hook } from './hook.js';

/** Endpoints of the service `gleaner-hook`. Every change is audited with its author. */
export function hookEndpoints(hook: Hook): Record<string, ServiceEndpoint> {
  return contractedEndpoints(hookService, {
    list: () => ({ host: hook.hostView(), functions: [...hook.functionNames()] }),
    inspect: (asked) => hook.inspect(asked),
    explain: (asked) => ({
      function: asked.function,
      activations: [...hook.explain(asked.function)],
      failedInits: hook.failedInits(asked.function),
    }),
    mode: (asked) => {
      if (asked.mode !== undefined)
        hook.setMode(asked.mode ?? undefined, asked.function, asked.author);
      return { host: hook.hostView().host, mode: hook.modeOf(asked.function), killed: hook.killed };
    },
    restore: (asked) => {
      if (asked.release) hook.kill('service', false);
      else if (asked.hold) hook.kill('service', true);
      return asked.release
        ? { restored: 0, failed: 0 }
        : hook.restoreAll(`operator:${asked.author}`, 'asked');
    },
    pause: (asked) => {
      hook.pause(asked.function, true, asked.author);
      return { function: asked.function, paused: hook.isPaused(asked.function) };
    },
    resume: (asked) => {
      hook.pause(asked.function, false, asked.author);
      return { function: asked.function, paused: hook.isPaused(asked.function) };
    },
  });
}
