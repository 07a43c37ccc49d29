import { z } from 'zod';
import { PEAK_BINS, PEAK_BUCKETS } from '../../rules/index.js';
import {
  bootField,
  count,
  cpu,
  finite,
  functionField,
  hostField,
  memory,
  nonNegative,
  observationSchema,
  text,
  time,
  wallClock,
  word,
} from '../messages/index.js';
import type { EndpointContract } from './contract.js';

const amounts = (length: number) => z.array(z.number().min(0)).length(length);

const peakExcessSchema = z.object({
  activations: amounts(PEAK_BUCKETS).describe(
    'Activations, by powers of two of those before them.',
  ),
  exceeded: amounts(PEAK_BUCKETS * PEAK_BINS).describe(
    'New highest peaks: for each of `activations` 24 numbers, by steps of 5 % above the ' +
      'former one.',
  ),
});

const decisionSchema = z
  .object({
    cpu: cpu.optional(),
    memory: memory.optional(),
    weightFactor: finite.optional(),
    containers: finite.optional(),
    concurrency: finite.optional(),
    nominalMemory: memory.optional(),
    actions: z.array(finite).describe('Steps taken: containers, cpu, memory.'),
  })
  .meta({ typeLabel: 'decision' });

const summary = {
  function: functionField,
  manager: word,
  phase: word.describe('Life-cycle phase, or `managing`.'),
  paused: z.boolean(),
  steps: count,
  decision: decisionSchema.nullable().describe('The newest.'),
};
export const agentSummarySchema = z.object(summary);
export type AgentSummary = Readonly<z.output<typeof agentSummarySchema>>;

export const agentDecisionSchema = z.object({
  at: wallClock,
  step: count,
  phase: word,
  host: hostField.describe('Host of the observation that it answered.'),
  activations: count,
  features: z.array(finite).describe('Local features, each 0..1.'),
  others: z.boolean().describe('There was a recent mean field.'),
  price: z.object({ cpu: finite, memory: finite }).nullable(),
  decision: decisionSchema.nullable().describe('Null: the manager failed.'),
  sent: z.boolean().describe('False: paused, or no valid decision.'),
});
export type AgentDecision = Readonly<z.output<typeof agentDecisionSchema>>;

const hostState = {
  host: hostField,
  boot: bootField,
  paused: z.boolean(),
  shards: count.describe('Leases held here.'),
  counts: z.record(z.string(), count),
  lag: finite
    .default(0)
    .describe(
      "How much later than usual a host's newest observation arrived, the largest, ms. Above a " +
        'second this host is behind and decides the newest only.',
    ),
  observations: z.unknown().describe('Taken and refused, by kind.'),
  meanField: z.unknown().describe('Taken and refused, by kind.'),
  handOver: z
    .record(z.string(), count)
    .describe('Suspended agents that were resumed, or could not be; saved shards.'),
  registry: z
    .record(z.string(), count)
    .default({})
    .describe(
      'Functions registered here, entries of other programs, and deletions since the start.',
    ),
  newerObjects: count
    .default(0)
    .describe('Stored objects of a newer release, beside which this host has its own.'),
};

/** Evidence for the memory that an action needs, over all hosts of its function. */
const sizeAdviceSchema = z.object({
  function: functionField,
  limit: memory.describe('Memory of its newest containers.'),
  size: memory.describe(
    'Smallest size that holds the recent peaks with a margin, for any number of activations; ' +
      "above the user's only after an OOM kill there, or if a peak was above it.",
  ),
  highest: memory.describe('Highest memory of an activation: `peak` of the observations.'),
  recent: memory.describe('The same, with decay.'),
  activations: count.describe(
    'Activations since the start; `activationsAtLimit`: since the last change of the limit.',
  ),
  activationsAtLimit: count,
  seen: time.describe('Time since its first observation.'),
  rate: nonNegative.describe('Activations per second over that time.'),
  busy: time.describe('Mean time that an activation keeps a container busy.'),
  coldStarts: count,
  evictionRate: nonNegative
    .default(0)
    .describe(
      'Recent cold starts per second within ten minutes of an activation before: a container was ' +
        'evicted, or busy.',
    ),
  containers: count.describe('Alive, all hosts together.'),
  kills: count.describe('OOM kills.'),
  killedAt: memory.nullable().describe('Limit at the newest OOM kill; null without one.'),
});
export type SizeAdvice = Readonly<z.output<typeof sizeAdviceSchema>>;

/** OpenWhisk's `user-memory` of one host, derived from the shares of its containers. */
const userMemorySchema = z.object({ host: hostField, userMemory: memory });
export type HostUserMemory = Readonly<z.output<typeof userMemorySchema>>;

const seen = { activations: count, failures: count, oomKills: count };

const tunedConcurrencySchema = z.object({
  function: functionField,
  revision: text.describe('Revision of the action.'),
  limit: count.describe('Limit in force, as the platform reports it.'),
  targetLimit: count.describe('Equals `limit` if nothing should change.'),
  reason: word.describe(
    'Such as `holding`, `frozen` while the agent learns, `searched` after a step, ' +
      '`unsafe` if the limit in force causes failures or OOM kills.',
  ),
  unsafeLimit: z
    .object({ limit: count, ...seen, user: z.object({ limit: count, ...seen }) })
    .optional()
    .describe(
      "Lowest limit with more failures or OOM kills than the user's own. " +
        'It and higher limits are not tried again. Absent: none.',
    ),
  searchSteps: count.describe('Steps since this agent host has the function.'),
});
export type TunedConcurrency = Readonly<z.output<typeof tunedConcurrencySchema>>;

export const agentHostSchema = z.object(hostState);

export const AGENTS_PAGE = 1000;
const page = {
  offset: count.default(0),
  limit: count.max(AGENTS_PAGE).default(AGENTS_PAGE),
};
const onFunction = z.object({ function: functionField });
// A misspelled field must not turn a request for one function into one for all.
const maybeFunction = z.strictObject({
  function: functionField.optional().describe('Absent: the whole agent host.'),
});
export const agentDetailSchema = z.object({
  ...summary,
  features: z.array(finite),
  state: z.unknown().describe("The manager's state."),
  about: text
    .optional()
    .describe('Progress of the function in its phase; absent if the manager does not describe it.'),
  changed: z
    .object({ at: wallClock, reason: text })
    .optional()
    .describe('The newest change of phase since this agent host has the function.'),
  hosts: z.array(hostField).describe('Invoker hosts the function was seen on.'),
  observation: observationSchema.nullable().describe('The newest.'),
});

/** The service `gleaner-agents`, one instance per agent host. */
export const agentsService = {
  list: {
    description: 'the agent host, how many agents are in each phase, and a page of them',
    request: z.object(page),
    answer: z.object({
      ...hostState,
      total: count,
      features: z.array(word).describe('Names of the features, in their order everywhere.'),
      phases: z.record(z.string(), count).describe('Agents by life-cycle phase.'),
      managers: z.record(z.string(), count).describe('Agents by manager.'),
      functions: z.array(agentSummarySchema),
    }),
  },
  inspect: {
    description: "one agent: its manager's state, features, newest observation and decision",
    request: onFunction,
    answer: agentDetailSchema,
  },
  explain: {
    description: "an agent's last 16 decisions, with their inputs",
    request: onFunction,
    answer: z.object({
      function: functionField,
      decisions: z.array(agentDecisionSchema).describe('Newest first.'),
    }),
  },
  advice: {
    description:
      'a page of functions with evidence for the memory of their actions, for any manager',
    request: z.object(page),
    answer: z.object({
      total: count,
      hosts: z.array(userMemorySchema),
      peaks: peakExcessSchema
        .nullable()
        .default(null)
        .describe('How peaks of all functions here exceed those before; only in the first page.'),
      functions: z.array(sizeAdviceSchema),
    }),
  },
  concurrency: {
    description:
      'the concurrency limits that the tuner tries (`agents.concurrency`) or excludes, of one ' +
      'function or a page of them; empty if it is off',
    request: z.object({
      function: functionField.optional().describe('Absent: all functions.'),
      ...page,
    }),
    answer: z.object({ total: count, functions: z.array(tunedConcurrencySchema) }),
  },
  pause: {
    changes: true,
    description:
      'stops targets; hooks return to user limits and their policies. Of one function until it ' +
      'is resumed, on another agent host too; of all functions until the agent host restarts',
    request: maybeFunction,
    answer: agentHostSchema,
  },
  resume: {
    changes: true,
    description: 'sends targets again',
    request: maybeFunction,
    answer: agentHostSchema,
  },
  retrain: {
    changes: true,
    description:
      'starts learning again; the agent keeps deciding, guarded by the fallback. ' +
      'Error 501 if the manager does not learn',
    request: onFunction,
    answer: agentDetailSchema,
  },
} satisfies Record<string, EndpointContract>;

export type AgentsList = z.output<typeof agentsService.list.answer>;
