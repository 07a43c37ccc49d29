import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { type Broker, isFunctionName } from '../broker/index.js';
import {
  type AgentSummary,
  askEveryPage,
  type HostUserMemory,
  type SizeAdvice,
} from '../broker/services/index.js';
import { mebibytes, messageOf, UsageError } from '../config/index.js';
import type {
  LimitRequest,
  SizeEvidence,
  WritableLimit,
} from '../openwhisk-plugin/openwhisk-api/index.js';
import { addPeakExcess, noPeakExcess } from '../rules/index.js';

const limitRequestsSchema = z.array(
  z
    .strictObject({
      function: z
        .string()
        .refine(isFunctionName, 'is not /namespace/package/action or /namespace/action'),
      memoryMiB: z.number().positive().optional(),
      concurrency: z.int().min(1).optional(),
      instances: z.int().min(1).optional(),
    })
    .transform(({ memoryMiB, ...rest }) => ({
      ...rest,
      ...(memoryMiB === undefined ? {} : { memory: mebibytes(memoryMiB) }),
    })),
);

/** JSON: `[{"function", "memoryMiB", "concurrency", "instances"}]`. Throws a UsageError. */
export function readLimitRequests(path: string): LimitRequest[] {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new UsageError(`${path} cannot be read: ${messageOf(error)}`, {
      hint: 'use a file in JSON',
    });
  }
  const parsed = limitRequestsSchema.safeParse(value);
  if (parsed.success) return parsed.data as LimitRequest[];
  const [issue] = parsed.error.issues;
  throw new UsageError(`${path}: ${issue!.path.join('.')}: ${issue!.message}`, {
    hint:
      '[{"function": "/guest/thumbs", "memoryMiB": 256, "concurrency": 10, "instances": 5}], ' +
      'the last three optional',
  });
}

/** Limits of actions in the agents' latest decisions; paused functions are left out. */
export function limitRequestsOf(
  agents: readonly AgentSummary[],
  limits: readonly WritableLimit[],
): LimitRequest[] {
  const requests: LimitRequest[] = [];
  for (const { function: fn, paused, decision } of agents) {
    if (paused || decision === null) continue;
    const { nominalMemory, concurrency, containers } = decision;
    const instances = containers === undefined ? undefined : Math.max(1, containers);
    const targets = { memory: nominalMemory, concurrency, instances };
    const requested = limits.flatMap((limit) =>
      targets[limit] === undefined ? [] : [[limit, targets[limit]] as const],
    );
    if (requested.length > 0) requests.push({ function: fn, ...Object.fromEntries(requested) });
  }
  return requests;
}

/** Every agent of every agent host, by its newest decision. */
export async function fetchAgents(broker: Broker): Promise<AgentSummary[]> {
  const { answers } = await askEveryPage(broker, 'list');
  return [...answers.values()].flat().flatMap(({ functions }) => functions);
}

/**
 * What activations say about every action's memory, and what the invokers of each host hand out.
 */
export async function fetchSizeEvidence(broker: Broker): Promise<SizeEvidence> {
  const advice: SizeAdvice[] = [];
  const hosts = new Map<string, HostUserMemory>();
  const peaks = noPeakExcess();
  const { answers } = await askEveryPage(broker, 'advice');
  for (const page of [...answers.values()].flat()) {
    advice.push(...page.functions);
    if (page.peaks !== null) addPeakExcess(peaks, page.peaks);
    // Each agent host has observations of other functions, which show the least of a host's memory:
    // the most of these is the nearest.
    for (const one of page.hosts)
      if (one.userMemory >= (hosts.get(one.host)?.userMemory ?? 0)) hosts.set(one.host, one);
  }
  return { advice, hosts: [...hosts.values()], peaks };
}

/** A tuner that does not know the limit in force is skipped: it judged an earlier one. */
export async function fetchConcurrencyRequests(
  broker: Broker,
  inForce: (fn: string) => number | undefined,
): Promise<LimitRequest[]> {
  const requests: LimitRequest[] = [];
  const { answers } = await askEveryPage(broker, 'concurrency');
  for (const { functions } of [...answers.values()].flat())
    for (const { function: fn, limit, targetLimit, reason } of functions)
      if (targetLimit !== limit && limit === inForce(fn))
        requests.push({
          function: fn,
          concurrency: targetLimit,
          why: 'concurrency',
          urgent: reason === 'unsafe',
        });
  return requests;
}
