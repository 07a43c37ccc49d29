import type { z } from 'zod';
import {
  actionSettingsSchema,
  agentReportSchema,
  agentsPartialSchema,
  eventSchema,
  experiencesSchema,
  hostReportSchema,
  leaseSchema,
  MODE_GLOBAL,
  meanFieldSchema,
  modeSchema,
  observationSchema,
  policyParametersSchema,
  registrationSchema,
  targetSchema,
  trajectorySchema,
} from './messages/index.js';
import type { ServiceContract } from './services/index.js';
import { agentsService, aggregatorService, hookService } from './services/index.js';
import { buckets, services, streams, wildcards } from './subjects.js';

export interface CatalogEntry {
  /** The subject with its wildcards, or bucket and keys. */
  readonly where: string;
  readonly route: string;
  readonly description: string;
  readonly schema: z.ZodType;
}

/** Every message on a subject. */
export const messageCatalog: readonly CatalogEntry[] = [
  {
    where: wildcards.observations,
    route: 'hook → agents',
    description:
      'One control step of one function on one host: what ran, what it used, got and took.',
    schema: observationSchema,
  },
  {
    where: wildcards.hostReports,
    route: 'hook → aggregator',
    description: 'What one invoker host has, and the demand on it.',
    schema: hostReportSchema,
  },
  {
    where: wildcards.experiences,
    route: 'hook → agents',
    description:
      'Choices that policy `faasrm` has drawn, with what came of each. Sent while its weights say `explore`.',
    schema: experiencesSchema,
  },
  {
    where: wildcards.agentsPartials,
    route: 'agent host → aggregator',
    description: 'Sums over the active agents of one agent host.',
    schema: agentsPartialSchema,
  },
  {
    where: wildcards.agentReports,
    route: 'agent → anyone',
    description: 'What an agent saw, did and got.',
    schema: agentReportSchema,
  },
  {
    where: `${wildcards.everything.slice(0, -1)}meanfield`,
    route: 'aggregator → all',
    description:
      'The mean field: totals over all agents, capacity, and the price on each invoker host.',
    schema: meanFieldSchema,
  },
  {
    where: wildcards.targets,
    route: 'agent → hooks',
    description:
      'What an agent wishes for its function. The hook clips it to the safeguard, and ignores a stale one.',
    schema: targetSchema,
  },
  {
    where: wildcards.trajectories,
    route: 'agents → stream',
    description: `What an agent saw, did and got, for whoever learns from it later: kept in stream \`${streams.trajectories}\`, the oldest go first.`,
    schema: trajectorySchema,
  },
  {
    where: wildcards.events,
    route: 'anyone',
    description:
      'Something worth telling an operator; `event.<kind>.<fn>`, `_` where it concerns no function.',
    schema: eventSchema,
  },
];

/** Every value in a key-value bucket. */
export const bucketCatalog: readonly CatalogEntry[] = [
  {
    where: `${buckets.mode} / \`${MODE_GLOBAL}\`, \`function.<fn>\``,
    route: 'operator → hooks',
    description:
      'Kill switch, modes and pauses; obeyed by every hook, and kept. A deleted key: as configured.',
    schema: modeSchema,
  },
  {
    where: `${buckets.functions} / \`<fn>\``,
    route: 'agents → anyone',
    description: 'A function that some hook has seen, and who manages it.',
    schema: registrationSchema,
  },
  {
    where: `${buckets.leases} / \`agents-<host>\`, \`shard-<n>\`, \`gleaner-aggregator\``,
    route: 'agents, aggregators',
    description:
      'Which agent hosts are there, who owns a shard of the functions (written when the owner changes), and who publishes the mean field. Not for operators.',
    schema: leaseSchema,
  },
  {
    where: `${buckets.policy} / \`<policy>\`, \`<policy>.<fn>\``,
    route: 'operator, agents → hooks',
    description: "An activation policy's parameters, for one function or for all.",
    schema: policyParametersSchema,
  },
  {
    where: `${buckets.actions} / \`<fn>\``,
    route: 'operator → hooks, agents',
    description:
      "What an action's owner says by annotations, as `gleaner actions follow` reads them.",
    schema: actionSettingsSchema,
  },
];

export const serviceCatalog: readonly {
  name: string;
  description: string;
  contract: ServiceContract;
}[] = [
  { name: services.hook, description: 'One instance beside each invoker.', contract: hookService },
  {
    name: services.agents,
    description: 'One instance for each agent host.',
    contract: agentsService,
  },
  {
    name: services.aggregator,
    description: 'Several may run; one publishes.',
    contract: aggregatorService,
  },
];
