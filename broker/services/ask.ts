import { z } from 'zod';
import { type Mode, millis } from '../../config/index.js';
import type { Broker } from '../port.js';
import { services } from '../subjects.js';
import { AGENTS_PAGE, agentsService } from './agents-service.js';
import { aggregatorSchema, aggregatorService } from './aggregator-service.js';
import { hookService } from './hook-service.js';
import {
  callEveryInstance,
  callEveryPage,
  callService,
  type ExpectedInstances,
} from './services.js';

const contracts = { hook: hookService, agents: agentsService, aggregator: aggregatorService };
type Contracts = typeof contracts;
type AnswerOf<C> = C extends { readonly answer: infer A extends z.ZodType } ? z.output<A> : never;

const EXPECTED_TIMEOUT = millis(300);

/**
 * The running instances of all services, if an aggregator knows all of them: who waits for their
 * answers need not wait for a fixed time. Empty: they are not known.
 */
export async function expectedInstances(broker: Broker): Promise<ExpectedInstances> {
  const call = { service: services.aggregator, endpoint: 'list', timeout: EXPECTED_TIMEOUT };
  const state = aggregatorSchema.safeParse(await callService(broker, call).catch(() => null));
  const instances = (state.success && state.data.instances) || {};
  return Object.entries(instances).flatMap(([service, hosts]) =>
    Object.entries(hosts).map(([id, host]) => ({ service, host, id })),
  );
}

/** Hosts on which an instance of the service is known to run, and that are not in `answers`. */
export function silentHosts(
  expected: ExpectedInstances,
  service: string,
  answers: ReadonlyMap<string, unknown>,
): string[] {
  const hosts = expected.filter((one) => one.service === service).map(({ host }) => host);
  return [...new Set(hosts)].filter((host) => !answers.has(host));
}

interface Asked<Answer> {
  readonly answers: Map<string, Answer>;
  readonly errors: Map<string, Error>;
  readonly missing: readonly { readonly service: string; readonly host: string }[];
}

/**
 * Calls every instance of a service: valid answers and errors by host. Answers of another version
 * are left out. `missing`: known to run, and silent.
 */
export async function askEvery<S extends keyof Contracts, E extends keyof Contracts[S] & string>(
  broker: Broker,
  service: S,
  endpoint: E,
  request?: object,
): Promise<Asked<AnswerOf<Contracts[S][E]>>> {
  const schema = answerSchema<AnswerOf<Contracts[S][E]>>(service, endpoint);
  return await checked(broker, services[service], schema, (expected) =>
    callEveryInstance(broker, { service: services[service], endpoint, request, expected }),
  );
}

/** Hosts on which something keeps a function from a mode that was set for it, and what. */
export async function restrictedHosts(
  broker: Broker,
  fn: string,
  mode: Mode,
): Promise<{ readonly host: string; readonly mode: Mode; readonly by: string }[]> {
  const { answers } = await askEvery(broker, 'hook', 'mode', { function: fn });
  return [...answers.values()].flatMap(({ host, mode: inForce, restrictedBy }) =>
    restrictedBy && inForce !== mode ? [{ host, mode: inForce, by: restrictedBy }] : [],
  );
}

/** As {@link askEvery}, all pages of every agent host. */
export async function askEveryPage<E extends 'list' | 'advice' | 'concurrency'>(
  broker: Broker,
  endpoint: E,
): Promise<Asked<readonly AnswerOf<Contracts['agents'][E]>[]>> {
  const schema = z.array(answerSchema<AnswerOf<Contracts['agents'][E]>>('agents', endpoint));
  const service = services.agents;
  return await checked(broker, service, schema, (expected) =>
    callEveryPage(broker, { service, endpoint, expected }, (offset) => ({
      offset,
      limit: AGENTS_PAGE,
    })),
  );
}

const answerSchema = <T>(service: keyof Contracts, endpoint: string): z.ZodType<T> =>
  (contracts[service] as Record<string, { readonly answer: z.ZodType }>)[endpoint]!
    .answer as z.ZodType<T>;

async function checked<T>(
  broker: Broker,
  service: string,
  schema: z.ZodType<T>,
  call: (expected: ExpectedInstances) => Promise<Map<string, unknown>>,
): Promise<Asked<T>> {
  const expected = await expectedInstances(broker);
  const answers = new Map<string, T>();
  const errors = new Map<string, Error>();
  const found = await call(expected);
  for (const [host, answer] of found) {
    const parsed = schema.safeParse(answer);
    if (parsed.success) answers.set(host, parsed.data);
    else if (answer instanceof Error) errors.set(host, answer);
  }
  const missing = silentHosts(expected, service, found).map((host) => ({ service, host }));
  return { answers, errors, missing };
}
