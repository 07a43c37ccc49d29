import { z } from 'zod';
import { decoder } from './codec.js';
import { amounts, count, modeField, sender, version } from './fields.js';

/** Capacity of one invoker host and the demand on it (`host.<host>`, hook → aggregator). */
export const hostReportSchema = z.object({
  v: version,
  ...sender,
  capacity: amounts,
  allocatable: amounts.describe('Capacity less reserve: the most that activations may get.'),
  pool: amounts.describe('Free to lend now.'),
  demand: amounts.describe(
    'Requested by the functions that are active on this host, not limited by the pool.',
  ),
  available: amounts,
  granted: amounts,
  used: amounts
    .optional()
    .describe('Mean busy cores of action containers since the last report, and memory in use now.'),
  functions: count,
  containers: count,
  running: count,
  mode: modeField,
});
export type HostReport = z.infer<typeof hostReportSchema>;
export const decodeHostReport = decoder(hostReportSchema);
