import { z } from 'zod';
import { type Broker, services } from '../broker/index.js';
import {
  callEveryInstance,
  callEveryPage,
  type ExpectedInstances,
  expectedInstances,
  type FunctionView,
  type HostView,
  hookService,
  PAGE_FUNCTIONS,
  silentHosts,
} from '../broker/services/index.js';
import { type Millis, millis } from '../config/index.js';
import { plainText } from './output.js';

type InspectRequest = z.input<typeof hookService.inspect.request>;

/** The fields that are shown; a newer hook may send more. */
const shown = hookService.inspect.answer.pick({ host: true, total: true, functions: true });
const pagesShown = z.array(shown);

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

interface InspectOptions extends Partial<InspectRequest> {
  readonly wait?: Millis;
  readonly expected?: ExpectedInstances;
}

/**
 * Every hook with all its functions, in the largest pages: each request costs the hook some
 * milliseconds, whatever its page is. With `function`, or `limit`: one request for that alone.
 * Hooks that do not answer in time are left out. `expected`: as in {@link callEveryInstance}.
 */
export async function inspectHooks(
  broker: Broker,
  { wait = millis(300), expected: known, ...request }: InspectOptions = {},
): Promise<HookAnswers> {
  const expected = known ?? (await expectedInstances(broker));
  const call = { service: services.hook, endpoint: 'inspect', wait, expected };
  const isAll = request.function === undefined && request.limit === undefined;
  const answers = isAll
    ? await callEveryPage(broker, call, (offset) => ({
        ...request,
        ...(offset > 0 && { containers: 0 }),
        offset,
        limit: PAGE_FUNCTIONS,
      }))
    : await callEveryInstance(broker, { ...call, request });
  const hooks: HookAnswer[] = [];
  const unread: string[] = [];
  const silent = new Set<string>();
  for (const [host, answer] of answers) {
    if (answer instanceof Error) {
      // Discovered, and then too slow or too busy to answer.
      silent.add(host);
      continue;
    }
    const pages = isAll ? (answer as unknown[]) : [answer];
    const checked = pagesShown.safeParse(pages);
    if (checked.success) hooks.push(joined(checked.data, pages as RawPage[]));
    else {
      const { path, message } = checked.error.issues[0]!;
      const where = path.slice(1).join('.');
      unread.push(`the hook on ${plainText(host)} has another version (${where}: ${message})`);
    }
  }
  return {
    hooks: hooks.sort((a, b) => a.host.host.localeCompare(b.host.host)),
    unread,
    missing: [...silentHosts(expected, services.hook, answers), ...silent],
  };
}

/** Checked for its shown fields only. */
type RawPage = { readonly functions: readonly { readonly name: string }[] };

/** One answer with the functions of all pages. A function that is new may move others by one. */
function joined(pages: readonly z.output<typeof shown>[], raw: readonly RawPage[]): HookAnswer {
  const byName = <T extends { name: string }>(all: readonly { functions: readonly T[] }[]) => [
    ...new Map(all.flatMap((page) => page.functions.map((one) => [one.name, one]))).values(),
  ];
  return {
    ...pages.at(-1)!,
    functions: byName(pages),
    raw: { ...raw[0]!, functions: byName(raw) },
  };
}
