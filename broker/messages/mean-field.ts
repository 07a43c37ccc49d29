import { z } from 'zod';
import { decoder } from './codec.js';
import {
  amounts,
  count,
  cpu,
  finite,
  functionField,
  hostField,
  memory,
  modeField,
  nonNegative,
  sender,
  totalAmounts,
  version,
  word,
} from './fields.js';

/** Most features of a local state, and most actions per decision. */
const STATE_MAX = 32;
const ACTIONS_MAX = 8;

/** Functions of one class of objectives, by their newest minute of activations. */
const latenessSums = z.object({
  running: nonNegative.describe('Mean number of running activations.'),
  atStake: nonNegative.describe(
    'Activations/s whose latency is near their objective, by a kernel over its logarithm.',
  ),
  late: nonNegative.describe('Activations/s that end after their objective.'),
});
export type LatenessSums = z.infer<typeof latenessSums>;

/** Sums over agents, of one agent host or in total. */
export const sumsSchema = z.object({
  members: count,
  state: z
    .array(finite)
    .max(STATE_MAX)
    .describe('Sum over members of each local feature; `squares`: of its square.'),
  squares: z.array(nonNegative).max(STATE_MAX),
  actions: z
    .array(finite)
    .max(ACTIONS_MAX)
    .describe('Sum over members of each action in steps (horizontal, cpu, memory).'),
  allocated: totalAmounts
    .extend({ containers: nonNegative })
    .describe('Limits x containers, and containers.'),
  demand: totalAmounts,
  lateness: z
    .object({ urgent: latenessSums, patient: latenessSums })
    .optional()
    .describe(
      'By objective: `urgent` is below four times the mean latency. Absent without an objective.',
    ),
});
export type Sums = z.infer<typeof sumsSchema>;

const interval = nonNegative
  .min(1)
  .describe("The sender's interval, ms: after 1.5 of them without a message it is left out.");

/**
 * Sums over one agent host's active agents (`agents.<host>`, agents → aggregator). `boot` and
 * `sequence` identify the batch, so that the host can subtract exactly its own part later.
 */
export const agentsPartialSchema = z
  .object({
    v: version,
    ...sender,
    interval,
    sums: sumsSchema,
  })
  .refine(
    (value) => value.sums.state.length === value.sums.squares.length,
    'must have one square per feature',
  );
export type AgentsPartial = z.infer<typeof agentsPartialSchema>;
export const decodeAgentsPartial = decoder(agentsPartialSchema);

const pressure = nonNegative.describe(
  'Run-queue pressure: time that containers waited for a CPU, without what their own quotas held ' +
    'back, per core and second since the last report. Absent if the kernel does not report it.',
);
const weights = nonNegative.describe(
  'Sum of the weights in force (cgroup v1 shares) of the containers in which something runs, ' +
    'mean since the last report.',
);

/** Capacity of one invoker host and the demand on it (`host.<host>`, hook → aggregator). */
export const hostReportSchema = z.object({
  v: version,
  ...sender,
  interval: interval
    .optional()
    .describe('As of the agent hosts; absent from older hooks: the aggregator uses its own.'),
  capacity: amounts,
  allocatable: amounts.describe('Capacity less reserve: the most that activations may get.'),
  pool: amounts.describe('Free to lend now.'),
  demand: amounts.describe(
    'Sum of requested limit x time running / time since the last report, not limited by the pool.',
  ),
  pressure: pressure.optional(),
  weights: weights.optional(),
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

/** Most hosts in one mean field; 4096 with short names take 850 KB of NATS's 1 MiB. */
export const MEAN_FIELD_HOSTS_MAX = 4096;

const perResource = z.object({ cpu: nonNegative, memory: nonNegative });

/** The mean field (`meanfield`, aggregator → agents): grows with hosts, never with functions. */
export const meanFieldSchema = z.object({
  v: version,
  ...sender,
  epoch: count.describe('Rises when another aggregator publishes; a lower one is obsolete.'),
  totals: sumsSchema,
  capacity: totalAmounts.describe('Sum over the invoker hosts that report.'),
  hosts: z
    .array(
      z.object({
        host: hostField,
        occupancy: perResource.describe('Demand / available.'),
        price: perResource.describe('The excess of occupancy over 1, at most 1.'),
        pressure: pressure.optional(),
        weights: weights.optional(),
        functionDemand: nonNegative
          .optional()
          .describe(
            'Mean CPU demand of a function that is active on the host, millicores. Absent with ' +
              'one host, as the totals are of its functions, and from older aggregators.',
          ),
      }),
    )
    .max(MEAN_FIELD_HOSTS_MAX),
  batches: z
    .array(z.object(sender))
    .max(MEAN_FIELD_HOSTS_MAX)
    .describe('The one batch of each agent host that is in the totals.'),
});
export type MeanField = z.infer<typeof meanFieldSchema>;
/** One invoker host in the mean field. */
export type MeanFieldHost = MeanField['hosts'][number];
export type PerResource = z.infer<typeof perResource>;
export const decodeMeanField = decoder(meanFieldSchema, 1024 * 1024);

/** An agent's features, action and reward (`agent.<fn>`, for inspection; may be sampled). */
export const agentReportSchema = z.object({
  v: version,
  function: functionField,
  ...sender,
  manager: word,
  phase: word.describe(
    'Life-cycle phase: `offline`, `online` or `serving`; `managing` if the manager does not learn.',
  ),
  step: count,
  features: z.array(finite).max(STATE_MAX * 3),
  actions: z.array(finite).max(ACTIONS_MAX),
  reward: finite.optional().describe('Absent for a manager without a reward, or before the first.'),
  target: z.object({
    cpu: cpu.optional(),
    memory: memory.optional(),
    containers: count.optional(),
  }),
});
export type AgentReport = z.infer<typeof agentReportSchema>;
export const decodeAgentReport = decoder(agentReportSchema);
