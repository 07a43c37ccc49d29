import {
  contractedEndpoints,
  hookService,
  type ServiceEndpoint,
} from '../../broker/services/index.js';
import type { Hook } from './hook.js';
import type { ChangedBy } from './kill-switch.js';

/** Endpoints of the service `gleaner-hook`. Every change is audited with its author. */
export function hookEndpoints(hook: Hook): Record<string, ServiceEndpoint> {
  const { modes, killSwitch } = hook.controls;
  const pause = (asked: ChangedBy & { function: string }, paused: boolean) => {
    hook.pause(asked.function, paused, asked);
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
      const { function: action, mode } = asked;
      if (mode !== undefined) hook.setMode(mode ?? undefined, action ?? null, asked);
      return {
        host: hook.identity.host,
        mode: action === undefined ? modes.global : modes.of(action),
        killed: killSwitch.killed,
        restrictedBy: action === undefined ? null : modes.restrictedBy(action),
      };
    },
    restore: async (asked) => {
      const { author, reason } = asked;
      const by = { author, reason };
      if (asked.release) killSwitch.set('service', false, by);
      else if (asked.hold) killSwitch.set('service', true, by);
      const result = asked.release
        ? { restored: 0, failed: 0 }
        : await hook.restoreAll(`operator:${author}`, 'asked');
      return { ...result, killedBy: [...killSwitch.sources()] };
    },
    pause: (asked) => pause(asked, true),
    resume: (asked) => pause(asked, false),
  });
}
