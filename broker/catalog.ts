import type { z } from 'zod';
import {
  actionSettingsSchema,
  agentReportSchema,
  agentsPartialSchema,
  eventSchema,
  experiencesSchema,
  hostReportSchema,
  leaseSchema,
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
import { buckets, services, wildcard } from './subjects.js';
import {
  type Access,
  type BucketName,
  bucketTable,
  type Role,
  type TopicName,
  topics,
} from './tables.js';

export interface CatalogEntry {
  /** The subject with its wildcards, or bucket and keys. */
  readonly where: string;
  readonly route: string;
  readonly description: string;
  readonly schema: z.ZodType;
}

const messageSchemas: Readonly<Record<TopicName, z.ZodType>> = {
  observations: observationSchema,
  experiences: experiencesSchema,
  hostReports: hostReportSchema,
  agentsPartials: agentsPartialSchema,
  agentReports: agentReportSchema,
  targets: targetSchema,
  meanField: meanFieldSchema,
  events: eventSchema,
  trajectories: trajectorySchema,
};
const valueSchemas: Readonly<Record<BucketName, z.ZodType>> = {
  mode: modeSchema,
  functions: registrationSchema,
  leases: leaseSchema,
  policy: policyParametersSchema,
  actions: actionSettingsSchema,
};

const route = (from: readonly Role[], to: readonly Role[]): string =>
  `${from.join(', ')} → ${to.join(', ') || 'stream'}`;

export const messageCatalog: readonly CatalogEntry[] = (Object.keys(topics) as TopicName[]).map(
  (name) => {
    const { from, to, description } = topics[name];
    return {
      where: wildcard(name),
      route: route(from, to),
      description,
      schema: messageSchemas[name],
    };
  },
);

export const bucketCatalog: readonly CatalogEntry[] = (
  Object.keys(bucketTable) as BucketName[]
).map((name) => {
  const { keys, access, watchedBy, description } = bucketTable[name];
  const roles = Object.entries(access) as [Role, Access][];
  const writers = roles.filter(([, granted]) => granted !== 'read').map(([role]) => role);
  return {
    where: `${buckets[name]} / ${keys}`,
    route: route(writers, watchedBy),
    description,
    schema: valueSchemas[name],
  };
});

export const serviceCatalog: readonly {
  name: string;
  description: string;
  contract: ServiceContract;
}[] = [
  { name: services.hook, description: 'One instance on each invoker host.', contract: hookService },
  {
    name: services.agents,
    description: 'One instance per agent host.',
    contract: agentsService,
  },
  {
    name: services.aggregator,
    description: 'Several may run; one publishes.',
    contract: aggregatorService,
  },
];
