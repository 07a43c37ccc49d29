import type { z } from 'zod';
import type { Broker } from '../port.js';
import { services } from '../subjects.js';
import { agentsService } from './agents-service.js';
import { aggregatorService } from './aggregator-service.js';
import { hookService } from './hook-service.js';
import { callEveryInstance } from './services.js';

const contracts = { hook: hookService, agents: agentsService, aggregator: aggregatorService };
type Contracts = typeof contracts;
type AnswerOf<C> = C extends { readonly answer: infer A extends z.ZodType } ? z.output<A> : never;

/**
 * Calls every instance of a service: valid answers and errors by host. Answers of another version
 * are left out.
 */
export async function askEvery<S extends keyof Contracts, E extends keyof Contracts[S] & string>(
  broker: Broker,
  service: S,
  endpoint: E,
  request?: object,
): Promise<{
  readonly answers: Map<string, AnswerOf<Contracts[S][E]>>;
  readonly errors: Map<string, Error>;
}> {
  const call = { service: services[service], endpoint, request };
  const { answer: schema } = contracts[service][endpoint] as { readonly answer: z.ZodType };
  const answers = new Map<string, AnswerOf<Contracts[S][E]>>();
  const errors = new Map<string, Error>();
  for (const [host, answer] of await callEveryInstance(broker, call)) {
    const checked = schema.safeParse(answer);
    if (checked.success) answers.set(host, checked.data as AnswerOf<Contracts[S][E]>);
    else if (answer instanceof Error) errors.set(host, answer);
  }
  return { answers, errors };
}
