import type { z } from 'zod';
import { type Broker, services } from '../broker/index.js';
import {
  callEveryInstance,
  type ExpectedInstances,
  expectedInstances,
  type FunctionView,
  type HostView,
  hookService,
  silentHosts,
} from '../broker/services/index.js';
import { type Millis, millis } from '../config/index.js';
import { plainText } from './output.js';

type InspectRequest = z.input<typeof hookService.inspect.request>;

/** The fields that are shown; a newer hook may send more. */
const shown = hookService.inspect.answer.pick({ host: true, total: true, functions: true });

export interface HookAnswer {
  readonly host: HostView;
  /** Functions known there; `functions` may be a page of them. */
  readonly total: number;
  readonly functions: readonly FunctionView[];
  /** All of the answer, for `--output json`. */
  readonly raw: unknown;
}

export interface HookAnswers {
  readonly hooks: readonly HookAnswer[];
  /** A line for each hook whose answer does not fit the contract, as during an upgrade. */
  readonly unread: readonly string[];
  /** Hosts whose hooks are known to run and do not answer. */
  readonly missing: readonly string[];
}

/** Hooks that do not answer in time are left out. `expected`: as in {@link callEveryInstance}. */
export async function inspectHooks(
  broker: Broker,
  {
    wait = millis(300),
    expected: known,
    ...request
  }: Partial<InspectRequest> & {
    readonly wait?: Millis;
    readonly expected?: ExpectedInstances;
  } = {},
): Promise<HookAnswers> {
  const expected = known ?? (await expectedInstances(broker));
  const call = { service: services.hook, endpoint: 'inspect', request, wait, expected };
  const answers = await callEveryInstance(broker, call);
  const hooks: HookAnswer[] = [];
  const unread: string[] = [];
  for (const [host, answer] of answers) {
    const checked = shown.safeParse(answer);
    if (checked.success) hooks.push({ ...checked.data, raw: answer });
    else {
      const { path, message } = checked.error.issues[0]!;
      unread.push(
        `the hook on ${plainText(host)} has another version (${path.join('.')}: ${message})`,
      );
    }
  }
  return {
    hooks: hooks.sort((a, b) => a.host.host.localeCompare(b.host.host)),
    unread,
    missing: silentHosts(expected, services.hook, answers),
  };
}
