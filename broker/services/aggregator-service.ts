import { z } from 'zod';
import {
  agentsPartialSchema,
  bootField,
  count,
  finite,
  hostField,
  hostReportSchema,
  meanFieldSchema,
  text,
  time,
} from '../messages/index.js';
import type { EndpointContract } from './contract.js';

const stateFields = {
  host: hostField,
  publishing: z.boolean().describe('This one has the lease and is not paused.'),
  epoch: count.nullable().describe("The lease's revision; null: another aggregator has it."),
  paused: z.boolean(),
  refusals: z.unknown().describe('By kind.'),
  agents: z.array(hostField).describe('Agent hosts in the totals.'),
  invokers: z.array(hostField).describe('Invoker hosts in the totals.'),
  instances: z
    .record(z.string(), z.record(bootField, hostField))
    .nullish()
    .describe(
      'The host of each running instance, by service and id. Null: one may be missing, as in the ' +
        'first 15 s of a connection.',
    ),
  failed: z
    .array(
      z.object({
        service: z.string(),
        host: hostField,
        failure: text,
        age: time.describe('Since its end.'),
      }),
    )
    .optional()
    .describe(
      'Instances that ended after a fault in the last hour and were not started again, as far as ' +
        'this aggregator ran then.',
    ),
};
export const aggregatorSchema = z.object(stateFields);

const perResource = z.object({ cpu: finite, memory: finite });

/** The service `gleaner-aggregator`; of several instances one publishes. */
export const aggregatorService = {
  list: {
    description: 'state, and the hosts in the totals',
    request: z.object({}),
    answer: aggregatorSchema,
  },
  inspect: {
    description: 'the same, with the last published mean field',
    request: z.object({}),
    answer: z.object({ ...stateFields, meanField: meanFieldSchema.nullable() }),
  },
  explain: {
    description:
      'the parts of the mean field: the batch of each agent host, the report and price of each ' +
      'invoker host',
    request: z.object({}),
    answer: z.object({
      agents: z.array(
        z.object({
          host: hostField,
          age: time.describe('Since its batch.'),
          leavesAfter: time,
          sums: agentsPartialSchema.shape.sums,
        }),
      ),
      invokers: z.array(
        z.object({
          host: hostField,
          age: time.describe('Since its report.'),
          leavesAfter: time.optional(),
          occupancy: perResource.describe('Demand / available.'),
          price: perResource.describe('The excess of occupancy over 1, at most 1.'),
          report: hostReportSchema,
        }),
      ),
    }),
  },
  pause: {
    changes: true,
    description: 'no mean field is published; agents decide without it after 1.5 steps',
    request: z.object({}),
    answer: aggregatorSchema,
  },
  resume: {
    changes: true,
    description: 'it is published again',
    request: z.object({}),
    answer: aggregatorSchema,
  },
} satisfies Record<string, EndpointContract>;
