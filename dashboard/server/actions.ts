import { z } from 'zod';
import {
  type Broker,
  failureOf,
  isFunctionName,
  type ModeOutcome,
  modeErrors,
  services,
  switchMode,
} from '../../broker/index.js';
import { modeField } from '../../broker/messages/index.js';
import { askEvery, callEveryInstance, restrictedHosts } from '../../broker/services/index.js';
import type { Mode } from '../../config/index.js';
import { killSwitchText } from '../../rules/index.js';
import type { ActionResponse } from '../wire.js';

const fn = z.string().refine(isFunctionName, 'is not the name of an action');

export const actionSchema = z.discriminatedUnion('action', [
  z.object({ action: z.literal('pause'), function: fn }),
  z.object({ action: z.literal('resume'), function: fn }),
  z.object({ action: z.literal('retrain'), function: fn }),
  z.object({ action: z.literal('restore') }),
  z.object({
    action: z.literal('mode'),
    function: fn.optional(),
    mode: z.union([modeField, z.literal('default')]),
  }),
]);
export type Action = z.output<typeof actionSchema>;

const AUTHOR = 'dashboard';

/** Runs one action through the same services as the command line. Rejects as NATS does. */
export async function act(broker: Broker, action: Action): Promise<ActionResponse> {
  const who = { author: AUTHOR };
  switch (action.action) {
    case 'pause':
      return switched(
        await switchMode(broker, action.function, { paused: true }, who),
        `${action.function} is paused on every host`,
      );
    case 'resume':
      return withKillSwitch(
        broker,
        switched(
          await switchMode(broker, action.function, { paused: false }, who),
          `${action.function} is managed again`,
        ),
      );
    case 'mode': {
      const mode = action.mode === 'default' ? null : action.mode;
      const done = switched(
        await switchMode(broker, action.function ?? null, { mode }, who),
        `${action.function ?? 'all functions'}: mode ${action.mode}`,
      );
      const restricted =
        done.ok && mode !== null && action.function !== undefined
          ? await restriction(broker, action.function, mode)
          : null;
      return withKillSwitch(broker, restricted ?? done);
    }
    case 'restore': {
      const answers = await callEveryInstance(broker, {
        service: services.hook,
        endpoint: 'restore',
        request: { author: AUTHOR },
        isExclusive: true,
      });
      return summary([...answers], 'restored', 'no hook answers');
    }
    case 'retrain': {
      const answers = await callEveryInstance(broker, {
        service: services.agents,
        endpoint: 'retrain',
        request: { function: action.function },
      });
      // One agent host has the function; the other hosts' errors matter only if none has it.
      const done = [...answers].filter(([, answer]) => !(answer instanceof Error));
      return summary(
        done.length > 0 ? done : [...answers],
        `${action.function} is retrained`,
        'no agent host answers',
      );
    }
  }
}

/** Adds to a change of modes where the kill switch keeps it from having an effect. */
async function withKillSwitch(broker: Broker, response: ActionResponse): Promise<ActionResponse> {
  const { answers } = await askEvery(broker, 'hook', 'inspect', { limit: 0, containers: 0 });
  const held = killSwitchText([...answers.values()].map(({ host }) => host));
  return held === '' ? response : { ...response, text: `${response.text}; ${held}` };
}

/** What keeps a function from its new mode; null: nothing, or no hook says so. */
async function restriction(broker: Broker, fn: string, mode: Mode): Promise<ActionResponse | null> {
  const restricted = await restrictedHosts(broker, fn, mode);
  const text = restricted.map(
    (one) => `not in force on ${one.host}: mode ${one.mode} by ${one.by}`,
  );
  return restricted.length === 0 ? null : { ok: false, text: text.join('; ') };
}

/** A change that is not in force, or lost when the hooks restart, is not `ok`. */
function switched(outcome: ModeOutcome, done: string): ActionResponse {
  const errors = modeErrors(outcome).map(({ message }) => message);
  return { ok: errors.length === 0, text: errors.join('; ') || done };
}

function summary(
  answers: readonly (readonly [string, unknown])[],
  done: string,
  noAnswer: string,
): ActionResponse {
  if (answers.length === 0) return { ok: false, text: noAnswer };
  const failures = answers.flatMap(([host, answer]) => {
    const failure = failureOf(answer);
    return failure === null ? [] : [`${host}: ${failure}`];
  });
  if (failures.length > 0) return { ok: false, text: failures.join('; ') };
  return { ok: true, text: `${done} on ${answers.map(([host]) => host).join(', ')}` };
}
