import { z } from 'zod';
import {
  bootField,
  count,
  cpu,
  finite,
  functionField,
  hostField,
  memory,
  observationSchema,
  text,
  wallClock,
  word,
} from '../messages/index.js';
import type { EndpointContract } from './contract.js';
import { sizeAdviceSchema, userMemorySchema } from './size-advice.js';
import { tunedConcurrencySchema } from './tuned-concurrency.js';

/** What a manager wished for; what is absent is no wish. */
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

/** One decision with what it was made from. */
export const agentDecisionSchema = z.object({
  at: wallClock,
  step: count,
  phase: word,
  host: hostField.describe('Whose observation it answered.'),
  activations: count,
  features: z.array(finite).describe('What the manager saw of the function, each 0..1.'),
  others: z.boolean().describe('A mean field of late was there.'),
  price: z.object({ cpu: finite, memory: finite }).nullable(),
  decision: decisionSchema.nullable().describe('Null: none could be made.'),
  sent: z.boolean().describe('False: paused, or no sound decision.'),
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
      'How much later than usual the newest observation came, ms: above a second this host is slow, and decides the newest alone.',
    ),
  observations: z.unknown().describe('Taken and refused, by kind.'),
  meanField: z.unknown().describe('Taken and refused, by kind.'),
  handOver: z
    .record(z.string(), count)
    .describe('Agents that came back from rest or could not; shards put by.'),
  registry: z
    .record(z.string(), count)
    .default({})
    .describe(
      'Functions registered here, entries that agent hosts did not write and that are kept; what was forgotten since the start.',
    ),
};

export const AGENTS_PAGE = 1000;
const onFunction = z.object({ function: functionField });
const maybeFunction = z.object({
  function: functionField.optional().describe('Absent: the whole agent host.'),
});
const description = z.object({
  ...summary,
  features: z.array(finite),
  state: z.unknown().describe("The manager's own."),
  about: text
    .optional()
    .describe(
      'Where the function stands in its phase, for people; absent where its manager has nothing to say.',
    ),
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
    request: z.object({
      offset: count.default(0),
      limit: count.max(AGENTS_PAGE).default(AGENTS_PAGE),
    }),
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
    answer: description,
  },
  explain: {
    description: "an agent's last 16 decisions, with what each was made from",
    request: onFunction,
    answer: z.object({
      function: functionField,
      decisions: z.array(agentDecisionSchema).describe('Youngest first.'),
    }),
  },
  advice: {
    description:
      "what functions' calls say about their actions' memory, a page of them, whatever their manager",
    request: z.object({
      offset: count.default(0),
      limit: count.max(AGENTS_PAGE).default(AGENTS_PAGE),
    }),
    answer: z.object({
      total: count,
      hosts: z.array(userMemorySchema),
      functions: z.array(sizeAdviceSchema),
    }),
  },
  concurrency: {
    description:
      'which concurrency limits the tuner tries (`agents.concurrency`), and which it does not try again; a page of them, or one function; empty where it is off',
    request: z.object({
      function: functionField.optional().describe('This one alone; absent: all.'),
      offset: count.default(0),
      limit: count.max(AGENTS_PAGE).default(AGENTS_PAGE),
    }),
    answer: z.object({ total: count, functions: z.array(tunedConcurrencySchema) }),
  },
  pause: {
    changes: true,
    description:
      'no targets are sent, for one function or for all; the hooks fall back to user limits and their own policies',
    request: maybeFunction,
    answer: z.object(hostState),
  },
  resume: {
    changes: true,
    description: 'targets are sent again',
    request: maybeFunction,
    answer: z.object(hostState),
  },
  retrain: {
    changes: true,
    description:
      'the function begins to learn anew, where it has settled: its agent acts on, guarded; error 501 for a manager that does not learn',
    request: onFunction,
    answer: description,
  },
} satisfies Record<string, EndpointContract>;

export type AgentsList = z.output<typeof agentsService.list.answer>;
