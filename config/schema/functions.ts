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

export const overrideSchema = z.strictObject({
  match: z.string().regex(/^\/\S/, 'must be a pattern like /guest/thumbs-* or /team/**').meta({
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
      z.array(z.string().regex(/^\/\S/, 'must be a pattern like /team/**')),
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
