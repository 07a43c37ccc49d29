import { z } from 'zod';
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
  sumsSchema,
  targetSchema,
  trajectorySchema,
} from './messages/index.js';
import {
  ALL_HOSTS,
  agentDecisionSchema,
  agentSummarySchema,
  agentsService,
  aggregatorService,
  containerViewSchema,
  endpointSubject,
  explanationSchema,
  functionViewSchema,
  hookService,
  hostViewSchema,
  type ServiceContract,
} from './services/index.js';
import { buckets, services, wildcard } from './subjects.js';
import {
  type Access,
  type BucketName,
  bucketTable,
  type Role,
  type TopicName,
  topics,
} from './tables.js';

interface CatalogEntry {
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

const messageCatalog: readonly CatalogEntry[] = (Object.keys(topics) as TopicName[]).map((name) => {
  const { from, to, description } = topics[name];
  return {
    where: wildcard(name),
    route: route(from, to),
    description,
    schema: messageSchemas[name],
  };
});

const bucketCatalog: readonly CatalogEntry[] = (Object.keys(bucketTable) as BucketName[]).map(
  (name) => {
    const { keys, access, watchedBy, description } = bucketTable[name];
    const roles = Object.entries(access) as [Role, Access][];
    const writers = roles.filter(([, granted]) => granted !== 'read').map(([role]) => role);
    return {
      where: `${buckets[name]} / ${keys}`,
      route: route(writers, watchedBy),
      description,
      schema: valueSchemas[name],
    };
  },
);

const serviceCatalog: readonly {
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

interface Field {
  readonly path: string;
  readonly kind: string;
  readonly required: boolean;
  readonly meaning: string;
}

const cell = (text: string): string => text.replaceAll('|', '\\|');
const metaOf = (schema: z.ZodType): { description?: string; typeLabel?: string } =>
  schema.meta() ?? {};

/** A schema without its optional, nullable and default wrappers, and their meaning. */
function unwrapped(schema: z.ZodType): {
  inner: z.ZodType;
  optional: boolean;
  nullable: boolean;
  fallback?: unknown;
} {
  let inner = schema;
  const seen: { optional: boolean; nullable: boolean; fallback?: unknown } = {
    optional: false,
    nullable: false,
  };
  for (;;) {
    if (inner instanceof z.ZodOptional) seen.optional = true;
    else if (inner instanceof z.ZodNullable) seen.nullable = true;
    else if (inner instanceof z.ZodDefault) {
      seen.optional = true;
      seen.fallback = inner.def.defaultValue;
    } else return { inner, ...seen };
    inner = inner.def.innerType as z.ZodType;
  }
}

function kindOf(schema: z.ZodType): string {
  const { typeLabel } = metaOf(schema);
  if (typeLabel !== undefined) return typeLabel;
  if (schema instanceof z.ZodLiteral)
    return [...schema.values].map((value) => `\`${String(value)}\``).join(', ');
  if (schema instanceof z.ZodEnum)
    return schema.options.map((option) => `\`${String(option)}\``).join(', ');
  if (schema instanceof z.ZodBoolean) return 'boolean';
  if (schema instanceof z.ZodNumber) return schema.isInt ? 'count' : 'number';
  if (schema instanceof z.ZodString) return 'text';
  if (schema instanceof z.ZodArray)
    return `list of ${kindOf(unwrapped(schema.def.element as z.ZodType).inner)}`;
  if (schema instanceof z.ZodRecord)
    return `map of ${kindOf(unwrapped(schema.def.valueType as z.ZodType).inner)}`;
  if (schema instanceof z.ZodUnion)
    return (schema.def.options as readonly z.ZodType[])
      .map((one) => kindOf(unwrapped(one).inner))
      .join(' or ');
  if (schema instanceof z.ZodObject) return 'object';
  return 'any JSON';
}

/** The object whose fields are listed below a field: itself, or the items of a list or map. */
function below(schema: z.ZodType): { shape: z.ZodObject; mark: string } | null {
  if (schema instanceof z.ZodObject) return { shape: schema, mark: '' };
  const held =
    schema instanceof z.ZodArray
      ? schema.def.element
      : schema instanceof z.ZodRecord
        ? schema.def.valueType
        : null;
  if (held === null) return null;
  const { inner } = unwrapped(held as z.ZodType);
  return inner instanceof z.ZodObject
    ? { shape: inner, mark: schema instanceof z.ZodArray ? '[]' : '.*' }
    : null;
}

/** Every field with those of its objects below it; `named` objects have a section of their own. */
function* fieldsOf(schema: z.ZodObject, named: NamedObjects, prefix = ''): Generator<Field> {
  for (const [name, child] of Object.entries(schema.shape as Record<string, z.ZodType>)) {
    const { inner, optional, nullable, fallback } = unwrapped(child);
    const path = prefix + name;
    const inside = below(inner);
    const section = inside === null ? undefined : named.get(inside.shape);
    const notes = [metaOf(child).description ?? metaOf(inner).description ?? ''];
    if (fallback !== undefined && fallback !== '')
      notes.push(`Default \`${JSON.stringify(fallback)}\`.`);
    if (section !== undefined)
      notes.push(`Fields: see [${section}](#${section.replaceAll(' ', '-')}).`);
    yield {
      path,
      kind: `${kindOf(inner)}${nullable ? ' or null' : ''}`,
      required: !optional,
      meaning: notes.filter(Boolean).join(' '),
    };
    if (inside !== null && section === undefined)
      yield* fieldsOf(inside.shape, named, `${path}${inside.mark}.`);
  }
}

type NamedObjects = ReadonlyMap<z.ZodType, string>;

function table(schema: z.ZodType, named: NamedObjects): string[] {
  const { inner } = unwrapped(schema);
  const fields = inner instanceof z.ZodObject ? [...fieldsOf(inner, named)] : [];
  if (fields.length === 0) return ['no fields: `{}`', ''];
  const row = ({ path, kind, required, meaning }: Field): string =>
    `| \`${path}\` | ${cell(kind)} | ${required ? 'yes' : ''} | ${cell(meaning)} |`;
  return ['| field | kind | always | meaning |', '|---|---|---|---|', ...fields.map(row), ''];
}

const message = (
  { where, route, description, schema }: CatalogEntry,
  named: NamedObjects,
): string[] => {
  const section = named.get(schema);
  const fields =
    section === undefined
      ? table(schema, named)
      : [`Fields: see [${section}](#${section.replaceAll(' ', '-')}).`, ''];
  return [`### ${where}`, '', `${route}. ${description}`, '', ...fields];
};

const sections: NamedObjects = new Map<z.ZodType, string>([
  [hostViewSchema, 'invoker host'],
  [functionViewSchema, 'function on a host'],
  [containerViewSchema, 'container'],
  [explanationSchema, 'activation explained'],
  [agentSummarySchema, 'agent'],
  [agentDecisionSchema, 'agent decision'],
  [meanFieldSchema, 'mean field'],
  [hostReportSchema, 'host report'],
  [observationSchema, 'observation'],
  [sumsSchema, 'sums over agents'],
]);

/** The text of docs/reference/nats.md. */
export function natsReference(): string {
  const lines = [
    '# NATS reference',
    '',
    'Generated by `gleaner docs` from the tables and schemas that receivers use; do not edit.',
    '[NATS topics](../nats.md) shows how to use it with a stock client. Messages are JSON.',
    "`<fn>` is the base64url of the function's fully qualified name",
    '(`/namespace/package/action` or `/namespace/action`). *always*: every message has the',
    'field. CPU is in millicores (1000 = one core), memory in bytes.',
    '',
    '## Services',
    '',
    'NATS micro-services (ADR-32): `$SRV.PING`, `$SRV.INFO`, `$SRV.STATS`, each also with',
    '`.<name>` and `.<name>.<id>`. An endpoint has three subjects:',
    `\`${endpointSubject('<service>', '<endpoint>')}\` (any instance answers), \`….<host>\``,
    `(the one on that host), \`….${ALL_HOSTS}\` (each answers). An error has the headers`,
    '`Nats-Service-Error-Code` and `Nats-Service-Error`.',
    '',
  ];
  for (const { name, description, contract } of serviceCatalog) {
    lines.push(`### ${name}`, '', description, '');
    for (const [endpoint, { description: does, request, answer }] of Object.entries(contract)) {
      lines.push(`#### \`${endpointSubject(name, endpoint)}\``, '', `${does}.`, '');
      lines.push(
        'Request:',
        '',
        ...table(request, sections),
        'Answer:',
        '',
        ...table(answer, sections),
      );
    }
  }
  lines.push('## Messages', '');
  for (const entry of messageCatalog) lines.push(...message(entry, sections));
  lines.push('## Key-value buckets', '');
  for (const entry of bucketCatalog) lines.push(...message(entry, sections));
  lines.push('## Objects that appear in several places', '');
  for (const [schema, title] of sections) {
    const others = new Map([...sections].filter(([one]) => one !== schema));
    lines.push(`### ${title}`, '', ...table(schema, others));
  }
  return `${lines.join('\n').trimEnd()}\n`;
}
