import { z } from 'zod';
import { functionToken } from '../function-token.js';
import { decoder } from './codec.js';
import { finite, functionField, text, version, word } from './fields.js';

/**
 * A value of the bucket `gleaner_policy`: parameters of an activation policy. The scoring network
 * of `faasrm` has 1,858 weights.
 */
export const policyParametersSchema = z.object({
  v: version,
  policy: word,
  function: functionField.nullable().describe('Null: for every function without its own.'),
  parameters: z
    .record(z.string().max(64), z.union([finite, z.string().max(256), z.boolean()]))
    .default({}),
  weights: z.array(finite).max(65_536).default([]),
  source: text.default('').describe('Name of a checkpoint, or an author.'),
});
export type PolicyParameters = z.infer<typeof policyParametersSchema>;
export const decodePolicyParameters = decoder(policyParametersSchema, 1024 * 1024);

export const policyKey = (policy: string, fn: string | null): string =>
  fn === null ? policy : `${policy}.${functionToken(fn)}`;
