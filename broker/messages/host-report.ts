import { z } from 'zod';
import { decoder } from './codec.js';
import { amounts, count, modeField, sender, version } from './fields.js';

/**
 * What one invoker host has and what is wanted of it (`host.<host>`, hook → aggregator). Millicores
 * and bytes.
 */
export const hostReportSchema = z.object({
  v: version,
  ...sender,
  capacity: amounts,
  allocatable: amounts.describe('Capacity less reserve: what activations may hold in all.'),
  pool: amounts.describe('Free to lend now.'),
  demand: amounts.describe(
    "Wanted by the functions that are active on this host, before the pool's bound, against what is available to them.",
  ),
  available: amounts,
  granted: amounts,
  used: amounts
    .optional()
    .describe(
      'Cores that were busy in action containers since the last report (mean), and memory in use now.',
    ),
  functions: count,
  containers: count,
  running: count,
  mode: modeField,
});
export type HostReport = z.infer<typeof hostReportSchema>;
export const decodeHostReport = decoder(hostReportSchema);
