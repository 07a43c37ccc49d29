import { z } from 'zod';

/** Limits that Gleaner may write, as OpenWhisk counts them: memory in MB of 1024 x 1024 bytes. */
export const writableLimits = ['memory', 'concurrency', 'instances'] as const;
export type WritableLimit = (typeof writableLimits)[number];
export type LimitValues = { readonly [Limit in WritableLimit]?: number };

const whole = z.int().min(0);

/**
 * What is read of an action, on `GET …/actions/<name>?code=false`, in lists, and as the answer to a
 * PUT (Limits.scala, WhiskAction.scala). All else, the code and the parameters with their secrets
 * above all, is dropped where it comes in.
 */
export const actionSchema = z.object({
  namespace: z.string(),
  name: z.string(),
  version: z.string().regex(/^\d+\.\d+\.\d+$/),
  // Null where the API printed an absent Option.
  limits: z.object({
    memory: whole,
    concurrency: whole.optional(),
    instances: whole.nullish(),
  }),
  // A list's entries have no kind in `exec`, only in this annotation, which OpenWhisk keeps itself
  // (Actions.scala, execAnnotation).
  annotations: z.array(z.object({ key: z.string(), value: z.unknown() })).default([]),
});
export type RestAction = z.output<typeof actionSchema>;

export function limitsOf(action: RestAction): LimitValues {
  const { memory, concurrency, instances } = action.limits;
  return {
    memory,
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(instances === undefined || instances === null ? {} : { instances }),
  };
}

/** `GET …/namespaces/_/limits` (Limits.scala); the ranges exist since 2.0.0 (Identity.scala). */
export const namespaceLimitsSchema = z.object({
  minActionMemory: whole.optional(),
  maxActionMemory: whole.optional(),
  minActionConcurrency: whole.optional(),
  maxActionConcurrency: whole.optional(),
  maxActionInstances: whole.optional(),
});
export type RestNamespaceLimits = z.output<typeof namespaceLimitsSchema>;

/** `GET /` (Controller.scala, info): the system's memory range, bytes; the only one in 1.0.0. */
export const platformSchema = z.object({
  limits: z
    .object({ min_action_memory: whole.optional(), max_action_memory: whole.optional() })
    .optional(),
});
export type RestPlatform = z.output<typeof platformSchema>;
