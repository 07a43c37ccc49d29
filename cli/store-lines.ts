import { z } from 'zod';
import { consequenceOf, refusedText, type StoreState } from '../broker/index.js';
import type { ServiceInstance } from '../broker/services/index.js';
import { count, left, plainText, right, table } from '../runtime/index.js';

/** State of a store as one part reports it. */
export interface PartStore extends StoreState {
  readonly service: string;
  readonly host: string;
}

const storesSchema = z.array(
  z.object({
    store: z.string(),
    operation: z.enum(['read', 'write']),
    succeeded: z.number(),
    failed: z.number(),
    failure: z
      .object({
        count: z.number(),
        lasting: z.number(),
        code: z.string(),
        message: z.string(),
        hint: z.string(),
      })
      .nullable(),
  }),
);

/** Every store of every part. Older parts report none. */
export function storesOf(services: readonly ServiceInstance[]): PartStore[] {
  return services.flatMap(({ name, metadata, stores }) => {
    const checked = storesSchema.safeParse(stores);
    return checked.success
      ? checked.data.map((store) => ({ service: name, host: metadata.host ?? '?', ...store }))
      : [];
  });
}

/** Table of failing stores, with causes and hints; empty if none fails. */
export function failingStores(stores: readonly PartStore[]): string {
  const failing = stores.filter(({ failure }) => failure !== null);
  if (failing.length === 0) return '';
  const rows = table(failing, [
    left('failing store', ({ store }) => store),
    left('operation', ({ operation }) => operation),
    left('service', ({ service }) => service),
    left('host', ({ host }) => host),
    right('failures', ({ failure }) => count(failure?.count ?? 0)),
    right('for s', ({ failure }) => count(Math.round((failure?.lasting ?? 0) / 1000))),
  ]);
  const causes = new Map<string, string>();
  for (const { store, operation, failure } of failing) {
    const name = `${store} ${operation}`;
    if (failure === null || causes.has(name)) continue;
    const consequence = consequenceOf(store, operation);
    const cause = `${plainText(failure.message)} [${plainText(failure.code)}]`;
    causes.set(name, `${cause}\n  ${plainText(consequence)}\n  ${plainText(failure.hint)}\n`);
  }
  return `${rows}${[...causes.values()].join('')}`;
}

/** Subjects that one part may not subscribe to. */
export interface RefusedSubjects {
  readonly service: string;
  readonly host: string;
  readonly subjects: readonly string[];
}

/** Of every part to which NATS refuses some. Older parts report none. */
export function refusedOf(services: readonly ServiceInstance[]): RefusedSubjects[] {
  return services.flatMap(({ name, metadata, refusedSubjects }) => {
    const checked = z.array(z.string()).safeParse(refusedSubjects);
    return checked.success && checked.data.length > 0
      ? { service: name, host: metadata.host ?? '?', subjects: checked.data }
      : [];
  });
}

export const refusedLines = (refused: readonly RefusedSubjects[]): string =>
  refused
    .map(({ service, host, subjects }) =>
      plainText(`${service} on ${host}: ${refusedText(subjects)}`),
    )
    .map((line) => `${line}\n`)
    .join('');
