import { z } from 'zod';
import { liveKey, section } from '../keys.js';
import { configuredPolicies } from '../policies.js';
import { managerName } from './processes.js';

export const modes = ['observe', 'recommend', 'enforce'] as const;

/** The kernel's least quota, 1 ms in each 100 ms; a smaller number was meant as cores. */
const millicores = () => z.number().min(10);

const bound = (unit: string, amount: z.ZodNumber) =>
  z
    .strictObject({
      min: amount.optional().meta({ description: `Smallest limit, ${unit}.` }),
      max: amount.optional().meta({ description: `Largest limit, ${unit}.` }),
    })
    .refine(
      (value) => value.min === undefined || value.max === undefined || value.min <= value.max,
      {
        error: 'min is above max',
      },
    );

/** One part of a name as OpenWhisk allows it, or of a pattern [OpenWhisk EntityName.scala]. */
const PART = '[\\w*](?:[\\w@ .&*-]*[\\w@.&*-])?';
const NAME = new RegExp(`^(?:/${PART}){2,3}$`);
const WITH_SLASHES = new RegExp(`^(?:/${PART}){1,3}$`);

/** Whether a pattern matches any name of a function; `**` may stand for several parts. */
const isMatchable = (pattern: string): boolean =>
  (pattern.includes('**') ? WITH_SLASHES : NAME).test(pattern);

/** A pattern that matches nothing would leave functions managed that were meant to be excluded. */
const functionPattern = (example: string) =>
  z.string().superRefine((pattern, context) => {
    if (isMatchable(pattern)) return;
    const trimmed = pattern.trim().replace(/\/+$/, '');
    const meant = [trimmed, `${trimmed}/**`].find(isMatchable);
    const message =
      meant === undefined
        ? `must be a pattern like ${example}: 2 or 3 parts, the namespace first`
        : `matches no function; did you mean ${meant}?`;
    context.addIssue({ code: 'custom', message });
  });

export const overrideSchema = z.strictObject({
  match: functionPattern('/guest/thumbs-* or /team/**').meta({
    description: 'Fully qualified name; `*` stands for anything within a part, `**` for anything.',
  }),
  mode: z.enum(modes).optional().meta({ description: 'Mode of these functions.' }),
  cpuMillicores: millicores().optional().meta({
    description: 'CPU that the user is entitled to, millicores; puts the function into quota mode.',
  }),
  sloMs: z.number().min(1).optional().meta({ description: 'Latency objective (init + run), ms.' }),
  bounds: z
    .strictObject({
      cpuMillicores: bound('millicores', millicores()).optional(),
      memoryMiB: bound('MiB', z.number().positive()).optional(),
    })
    .optional()
    .meta({
      description: 'Limits stay inside: `cpuMillicores: {min, max}`, `memoryMiB: {min, max}`.',
    }),
  memoryPolicy: z
    .enum(['guarantee', 'faasrm'])
    .optional()
    .meta({ description: 'Memory policy of these functions.' }),
  policy: z
    .enum(configuredPolicies)
    .optional()
    .meta({ description: 'Activation policy of these functions, by name.' }),
  manager: managerName().optional().meta({
    description: 'Resource manager of these functions, by name or module; changes at a restart.',
  }),
  holdOffline: z
    .boolean()
    .optional()
    .meta({
      description:
        'With manager `aware`: the fallback always decides for these functions, and their agents ' +
        'only observe; changes at a restart.',
    }),
});

export const functionsSchema = section(
  'Which functions are managed, and settings of single functions.',
  {
    exclude: liveKey(
      z.array(functionPattern('/team/**')),
      ['/whisk.system/**'],
      'Functions that are never touched.',
    ),
    overrides: liveKey(
      z.array(overrideSchema),
      [],
      'Entries apply in order; a later one wins, field by field.',
    ),
  },
);

export type Mode = (typeof modes)[number];
export type FunctionOverride = z.output<typeof overrideSchema>;
