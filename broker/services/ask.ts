import type { z } from 'zod';
import { millis } from '../../config/index.js';
import type { Broker } from '../port.js';
import { services } from '../subjects.js';
import { agentsService } from './agents-service.js';
import { aggregatorSchema, aggregatorService } from './aggregator-service.js';
import { hookService } from './hook-service.js';
import { callEveryInstance, callService, type ExpectedInstances } from './services.js';

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

/**
 * Calls every instance of a service: valid answers and errors by host. Answers of another version
 * are left out. `missing`: known to run, and silent.
 */
export async function askEvery<S extends keyof Contracts, E extends keyof Contracts[S] & string>(
  broker: Broker,
  service: S,
  endpoint: E,
  request?: object,
): Promise<{
  readonly answers: Map<string, AnswerOf<Contracts[S][E]>>;
  readonly errors: Map<string, Error>;
  readonly missing: readonly { readonly service: string; readonly host: string }[];
}> {
  const expected = await expectedInstances(broker);
  const call = { service: services[service], endpoint, request, expected };
  const { answer: schema } = contracts[service][endpoint] as { readonly answer: z.ZodType };
  const answers = new Map<string, AnswerOf<Contracts[S][E]>>();
  const errors = new Map<string, Error>();
  const found = await callEveryInstance(broker, call);
  for (const [host, answer] of found) {
    const checked = schema.safeParse(answer);
    if (checked.success) answers.set(host, checked.data as AnswerOf<Contracts[S][E]>);
    else if (answer instanceof Error) errors.set(host, answer);
  }
  const missing = silentHosts(expected, services[service], found).map((host) => ({
    service: services[service],
    host,
  }));
  return { answers, errors, missing };
}
