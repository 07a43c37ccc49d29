import { z } from 'zod';

const limits = z.object({
  memory: z.int().optional(),
  concurrency: z.int().optional(),
  instances: z.int().optional(),
});
const common = { v: z.literal(1), function: z.string(), at: z.number() };
/** Automatic authors of changes; a change without a reason came from a person. */
const changeReasons = ['right-size', 'concurrency'] as const;
export type ChangeReason = (typeof changeReasons)[number];

/** One line. `at`: wall clock, ms. Limits as OpenWhisk counts them. */
export const entrySchema = z.discriminatedUnion('kind', [
  /** Written before the request. `original`: the values before Gleaner; absent if none. */
  z.object({
    ...common,
    kind: z.literal('intent'),
    version: z.string(),
    original: limits,
    to: limits,
    why: z.enum(changeReasons).optional(),
  }),
  /** OpenWhisk has the change, as this version. */
  z.object({ ...common, kind: z.literal('done'), version: z.string() }),
  /** It has not: nothing was changed by the intent before. */
  z.object({ ...common, kind: z.literal('refused') }),
  /** Why none of our changes is in force any more. */
  z.object({
    ...common,
    kind: z.literal('closed'),
    why: z.enum(['undone', 'gone', 'changed_by_others']),
  }),
  /** The same after an OOM kill under `memory` MB, which is too little from now on. */
  z.object({ ...common, kind: z.literal('killed'), memory: z.int() }),
  /** The change before was watched, and nothing bad was seen. */
  z.object({ ...common, kind: z.literal('kept') }),
]);
export type JournalEntry = z.output<typeof entrySchema>;
