import {
  contractedEndpoints,
  hookService,
  type ServiceEndpoint,
} from '../../broker/services/index.js';
import type { Hook } from './hook.js';

/** Endpoints of the service `gleaner-hook`. Every change is audited with its author. */
export function hookEndpoints(hook: Hook): Record<string, ServiceEndpoint> {
  const { modes, killSwitch } = hook.controls;
  const pause = (asked: { function: string; author: string }, paused: boolean) => {
    hook.pause(asked.function, paused, asked.author);
    return { function: asked.function, paused: modes.isPaused(asked.function) };
  };
  return contractedEndpoints(hookService, {
    list: () => ({ host: hook.hostView(), functions: [...hook.functionNames()] }),
    inspect: (asked) => hook.inspect(asked),
    explain: (asked) => ({
      function: asked.function,
      activations: [...hook.explain(asked.function)],
      failedInits: hook.failedInits(asked.function),
    }),
    mode: (asked) => {
      const { function: action, mode, author } = asked;
      if (mode !== undefined) hook.setMode(mode ?? undefined, action ?? null, author);
      return {
        host: hook.identity.host,
        mode: action === undefined ? modes.global : modes.of(action),
        killed: killSwitch.killed,
        restrictedBy: action === undefined ? null : modes.restrictedBy(action),
      };
    },
    restore: async (asked) => {
      if (asked.release) killSwitch.set('service', false);
      else if (asked.hold) killSwitch.set('service', true);
      const result = asked.release
        ? { restored: 0, failed: 0 }
        : await hook.restoreAll(`operator:${asked.author}`, 'asked');
      return { ...result, killedBy: [...killSwitch.sources()] };
    },
    pause: (asked) => pause(asked, true),
    resume: (asked) => pause(asked, false),
  });
}
