import { z } from 'zod';
import { sumsSchema } from './agents-partial.js';
import { decoder } from './codec.js';
import {
  bootField,
  count,
  hostField,
  nonNegative,
  sender,
  sequenceField,
  totalAmounts,
  version,
} from './fields.js';

/** Most hosts of either kind in one mean field; 4096 invoker hosts are about 700 KB. */
export const HOSTS_MAX = 4096;

const perResource = z.object({ cpu: nonNegative, memory: nonNegative });

/**
 * The mean field (`meanfield`, aggregator → agents): grows with hosts, never with functions. `host`
 * is the aggregator's. A price is the clipped excess of occupancy (demand / available) over 1.
 */
export const meanFieldSchema = z.object({
  v: version,
  ...sender,
  epoch: count.describe('Rises when another aggregator publishes; a lower one is obsolete.'),
  totals: sumsSchema,
  capacity: totalAmounts.describe('Sum over the invoker hosts that report.'),
  hosts: z
    .array(z.object({ host: hostField, occupancy: perResource, price: perResource }))
    .max(HOSTS_MAX),
  batches: z
    .array(z.object({ host: hostField, boot: bootField, sequence: sequenceField }))
    .max(HOSTS_MAX)
    .describe('The one batch of each agent host that is in the totals.'),
});
export type MeanField = z.infer<typeof meanFieldSchema>;
export type PerResource = z.infer<typeof perResource>;
export const decodeMeanField = decoder(meanFieldSchema, 1024 * 1024);
