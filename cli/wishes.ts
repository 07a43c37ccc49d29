import { readFileSync } from 'node:fs';
import { z } from 'zod';
import {
  AGENTS_PAGE,
  type AgentSummary,
  agentsService,
  type Broker,
  buckets,
  callEveryInstance,
  decodeMode,
  type HostUserMemory,
  isFunctionName,
  MODE_GLOBAL,
  modeKey,
  type SizeAdvice,
  services,
} from '../broker/index.js';
import { type Bytes, mebibytes, messageOf } from '../config/index.js';
import type { SizeEvidence, Wish, WritableLimit } from '../openwhisk-plugin/index.js';
import { UsageError } from './exit.js';
import { inspectHooks } from './hook-client.js';

const wishesSchema = z.array(
  z
    .strictObject({
      function: z.string().refine(isFunctionName, 'is not /namespace/package/action or /namespace/action'),
      memoryMiB: z.number().positive().optional(),
      concurrency: z.int().min(1).optional(),
      instances: z.int().min(1).optional(),
    })
    .transform(({ memoryMiB, ...rest }) => ({
      ...rest,
      ...(memoryMiB === undefined ? {} : { memory: mebibytes(memoryMiB) }),
    })),
);

/** A file of wishes: JSON, `[{"function", "memoryMiB", "concurrency", "instances"}]`. Throws a UsageError that names what is wrong. */
export function readWishes(path: string): Wish[] {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new UsageError(`${path} cannot be read: ${messageOf(error)}`, { hint: 'it must be a file of JSON' });
  }
  const parsed = wishesSchema.safeParse(value);
  if (parsed.success) return parsed.data as Wish[];
  const [issue] = parsed.error.issues;
  throw new UsageError(`${path}: ${issue!.path.join('.')}: ${issue!.message}`, {
    hint: '[{"function": "/guest/thumbs", "memoryMiB": 256, "concurrency": 10, "instances": 5}], the last three optional',
  });
}

/** What the agents' newest decisions want of actions' own limits; nothing of what is paused. */
export function wishesOf(agents: readonly AgentSummary[], limits: readonly WritableLimit[]): Wish[] {
  const wishes: Wish[] = [];
  for (const { function: fn, paused, decision } of agents) {
    if (paused || decision === null) continue;
    const { nominalMemory, concurrency, containers } = decision;
    const wish: { function: string; memory?: Bytes; concurrency?: number; instances?: number } = { function: fn };
    if (limits.includes('memory') && nominalMemory !== undefined) wish.memory = nominalMemory;
    if (limits.includes('concurrency') && concurrency !== undefined) wish.concurrency = concurrency;
    if (limits.includes('instances') && containers !== undefined) wish.instances = Math.max(1, containers);
    if (Object.keys(wish).length > 1) wishes.push(wish);
  }
  return wishes;
}

/**
 * Without those of functions that the bucket `gleaner_mode` pauses, kills or keeps from `enforce`, or that any hook holds back: a pause or the
 * kill switch may be in force without being stored. It can allow nothing more.
 */
export async function allowedWishes(broker: Broker, wishes: readonly Wish[]): Promise<Wish[]> {
  const { hooks } = await inspectHooks(broker, { containers: 0 });
  if (hooks.some(({ host }) => host.killed)) return [];
  const paused = new Set(
    hooks.flatMap(({ functions }) => functions.filter((one) => one.paused).map(({ name }) => name)),
  );
  const bucket = broker.keyValue(buckets.mode);
  const read = async (key: string) => {
    const entry = await bucket.get(key);
    const decoded = entry?.value ? decodeMode(entry.value) : null;
    return decoded?.ok ? decoded.message : null;
  };
  const all = await read(MODE_GLOBAL);
  if (all?.kill || all?.paused) return [];
  const allowed: Wish[] = [];
  for (const wish of wishes) {
    const own = await read(modeKey(wish.function));
    const mode = own?.mode ?? all?.mode ?? 'enforce';
    if (!own?.kill && !own?.paused && !paused.has(wish.function) && mode === 'enforce') allowed.push(wish);
  }
  return allowed;
}

/** Every agent of every agent host, by its newest decision. */
export async function askAgents(broker: Broker): Promise<AgentSummary[]> {
  const all: AgentSummary[] = [];
  await askPages(broker, 'list', agentsService.list.answer, ({ functions }) => all.push(...functions));
  return all;
}

/** What calls say about every action's memory, and what the invokers of each host hand out. */
export async function askSizes(broker: Broker): Promise<SizeEvidence> {
  const advice: SizeAdvice[] = [];
  const hosts = new Map<string, HostUserMemory>();
  await askPages(broker, 'advice', agentsService.advice.answer, (page) => {
    advice.push(...page.functions);
    // Each agent host hears of all hosts, by other functions; the least told is the nearest (shares are rounded down).
    for (const one of page.hosts)
      if (one.userMemory <= (hosts.get(one.host)?.userMemory ?? Number.POSITIVE_INFINITY)) hosts.set(one.host, one);
  });
  return { advice, hosts: [...hosts.values()] };
}

/** What the concurrency tuners wish, of those that know the limit in force: another was judged by what is past. */
export async function askConcurrency(broker: Broker, inForce: (fn: string) => number | undefined): Promise<Wish[]> {
  const wishes: Wish[] = [];
  await askPages(broker, 'concurrency', agentsService.concurrency.answer, ({ functions }) => {
    for (const { function: fn, limit, wish, reason } of functions)
      if (wish !== limit && limit === inForce(fn))
        wishes.push({ function: fn, concurrency: wish, why: 'concurrency', urgent: reason === 'unsafe' });
  });
  return wishes;
}

/** Page after page of every agent host, until none has more. */
async function askPages<T extends { readonly total: number; readonly functions: readonly unknown[] }>(
  broker: Broker,
  endpoint: keyof typeof agentsService,
  answer: z.ZodType<T>,
  take: (page: T) => void,
): Promise<void> {
  for (let offset = 0; ; offset += AGENTS_PAGE) {
    const request = { offset, limit: AGENTS_PAGE };
    const answers = await callEveryInstance(broker, { service: services.agents, endpoint, request });
    let more = false;
    for (const one of answers.values()) {
      const page = answer.safeParse(one);
      if (!page.success) continue;
      take(page.data);
      more ||= offset + page.data.functions.length < page.data.total;
    }
    if (!more) return;
  }
}
