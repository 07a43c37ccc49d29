import type { z } from 'zod';
import { agentsService } from './contracts/agents-service.js';
import { aggregatorService } from './contracts/aggregator-service.js';
import type { ServiceContract } from './contracts/contract.js';
import { hookService } from './contracts/hook-service.js';
import { actionSettingsSchema } from './messages/action-settings.js';
import { agentReportSchema } from './messages/agent-report.js';
import { agentsPartialSchema } from './messages/agents-partial.js';
import { eventSchema } from './messages/event.js';
import { hostReportSchema } from './messages/host-report.js';
import { lessonsSchema } from './messages/lessons.js';
import { meanFieldSchema } from './messages/mean-field.js';
import { MODE_GLOBAL, modeSchema } from './messages/mode.js';
import { observationSchema } from './messages/observation.js';
import { policyParametersSchema } from './messages/policy-parameters.js';
import { leaseSchema, registrationSchema } from './messages/registration.js';
import { targetSchema } from './messages/target.js';
import { trajectorySchema } from './messages/trajectory.js';
import { buckets, services, streams, wildcards } from './subjects.js';

export interface CatalogueEntry {
  /** The subject with its wildcards, or bucket and keys. */
  readonly where: string;
  readonly route: string;
  readonly describes: string;
  readonly schema: z.ZodType;
}

/** Every message on a subject. */
export const messageCatalogue: readonly CatalogueEntry[] = [
  {
    where: wildcards.observations,
    route: 'hook → agents',
    describes: 'One control step of one function on one host: what ran, what it used, got and took.',
    schema: observationSchema,
  },
  {
    where: wildcards.hostReports,
    route: 'hook → aggregator',
    describes: 'What one invoker host has, and what is wanted of it.',
    schema: hostReportSchema,
  },
  {
    where: wildcards.lessons,
    route: 'hook → agents',
    describes: 'Choices that policy `faasrm` has drawn, with what came of each. Sent while its weights say `explore`.',
    schema: lessonsSchema,
  },
  {
    where: wildcards.agentsPartials,
    route: 'agent host → aggregator',
    describes: 'Sums over the active agents of one agent host.',
    schema: agentsPartialSchema,
  },
  {
    where: wildcards.agentReports,
    route: 'agent → anyone',
    describes: 'What an agent saw, did and got.',
    schema: agentReportSchema,
  },
  {
    where: `${wildcards.everything.slice(0, -1)}meanfield`,
    route: 'aggregator → all',
    describes: 'The mean field: totals over all agents, capacity, and the price on each invoker host.',
    schema: meanFieldSchema,
  },
  {
    where: wildcards.targets,
    route: 'agent → hooks',
    describes: 'What an agent wishes for its function. The hook clips it to the safeguard, and ignores a stale one.',
    schema: targetSchema,
  },
  {
    where: wildcards.trajectories,
    route: 'agents → stream',
    describes: `What an agent saw, did and got, for whoever learns from it later: kept in stream \`${streams.trajectories}\`, the oldest go first.`,
    schema: trajectorySchema,
  },
  {
    where: wildcards.events,
    route: 'anyone',
    describes: 'Something worth telling an operator; `event.<kind>.<fn>`, `_` where it concerns no function.',
    schema: eventSchema,
  },
];

/** Every value in a key-value bucket. */
export const bucketCatalogue: readonly CatalogueEntry[] = [
  {
    where: `${buckets.mode} / \`${MODE_GLOBAL}\`, \`function.<fn>\``,
    route: 'operator → hooks',
    describes: 'Kill switch, modes and pauses; obeyed by every hook, and kept. A deleted key: as configured.',
    schema: modeSchema,
  },
  {
    where: `${buckets.functions} / \`<fn>\``,
    route: 'agents → anyone',
    describes: 'A function that some hook has seen, and who manages it.',
    schema: registrationSchema,
  },
  {
    where: `${buckets.leases} / \`agents-<host>\`, \`shard-<n>\`, \`gleaner-aggregator\``,
    route: 'agents, aggregators',
    describes:
      'Which agent hosts are there, who owns a shard of the functions (written when the owner changes), and who publishes the mean field. Not for operators.',
    schema: leaseSchema,
  },
  {
    where: `${buckets.policy} / \`<policy>\`, \`<policy>.<fn>\``,
    route: 'operator, agents → hooks',
    describes: "An activation policy's parameters, for one function or for all.",
    schema: policyParametersSchema,
  },
  {
    where: `${buckets.actions} / \`<fn>\``,
    route: 'operator → hooks, agents',
    describes: "What an action's owner says by annotations, as `gleaner actions follow` reads them.",
    schema: actionSettingsSchema,
  },
];

export const serviceCatalogue: readonly { name: string; describes: string; contract: ServiceContract }[] = [
  { name: services.hook, describes: 'One instance beside each invoker.', contract: hookService },
  { name: services.agents, describes: 'One instance for each agent host.', contract: agentsService },
  { name: services.aggregator, describes: 'Several may run; one publishes.', contract: aggregatorService },
];
