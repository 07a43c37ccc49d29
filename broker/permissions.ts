import {
  agentsService,
  aggregatorService,
  hookService,
  type ServiceContract,
} from './services/index.js';
import {
  buckets,
  objectStores,
  SUBJECT_PREFIX,
  services,
  streams,
  topicSubject,
  wildcard,
} from './subjects.js';
import {
  type Access,
  type BucketName,
  bucketTable,
  EVENT_KINDS,
  eventKinds,
  type Role,
  type TopicName,
  topics,
} from './tables.js';

/** Everything else is denied. */
export interface Permissions {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
}

/** Answers to a role's requests go to a subject that only that role may subscribe to. */
export const inboxPrefixOf = (role: Role): string => `_INBOX_gleaner_${role}`;

const DISCOVERY = ['PING', 'INFO', 'STATS'].flatMap((verb) => [`$SRV.${verb}`, `$SRV.${verb}.>`]);
/** Roles that send requests to services. */
const REQUESTER_ROLES: readonly Role[] = ['viewer', 'operator'];
const REPLIES = REQUESTER_ROLES.map((role) => `${inboxPrefixOf(role)}.>`);
/** Opens a stream, creates it if it is missing, and reads single records. */
const readStream = (stream: string): string[] => [
  `$JS.API.STREAM.INFO.${stream}`,
  `$JS.API.STREAM.CREATE.${stream}`,
  `$JS.API.STREAM.MSG.GET.${stream}`,
  `$JS.API.DIRECT.GET.${stream}`,
  `$JS.API.DIRECT.GET.${stream}.>`,
];
const readBucket = (bucket: string): string[] => readStream(`KV_${bucket}`);
const writeBucket = (bucket: string, keys = '>'): string[] => [
  ...readBucket(bucket),
  `$KV.${bucket}.${keys}`,
];
/** Deletes entries with their history. */
const sweepBucket = (bucket: string): string[] => [
  ...writeBucket(bucket),
  `$JS.API.STREAM.MSG.DELETE.KV_${bucket}`,
];
const ACCESS = { read: readBucket, write: writeBucket, sweep: sweepBucket } as const;

/** The client reads an object through a consumer of its own, and purges replaced chunks. */
const objects = (store: string): string[] => [
  ...readStream(`OBJ_${store}`),
  '$JS.API.STREAM.NAMES',
  `$JS.API.STREAM.PURGE.OBJ_${store}`,
  `$JS.API.CONSUMER.CREATE.OBJ_${store}`,
  `$JS.API.CONSUMER.CREATE.OBJ_${store}.>`,
  `$JS.API.CONSUMER.DELETE.OBJ_${store}.*`,
  `$JS.FC.OBJ_${store}.>`,
  `$O.${store}.>`,
];

/** The subjects of a service's instance on `host`; `*`: any host. */
const endpoints = (service: string, host: string): string[] => {
  const all = `${SUBJECT_PREFIX}.svc.${service}.*`;
  return host === '*' ? [all, `${all}.*`] : [all, `${all}.${host}`, `${all}.@all`];
};

const CONTRACTS: readonly (readonly [string, ServiceContract])[] = [
  [services.hook, hookService],
  [services.agents, agentsService],
  [services.aggregator, aggregatorService],
];
const request = (service: string, endpoint: string): string[] => [
  `${SUBJECT_PREFIX}.svc.${service}.${endpoint}`,
  `${SUBJECT_PREFIX}.svc.${service}.${endpoint}.*`,
];
const ALL_REQUESTS = CONTRACTS.flatMap(([service]) => request(service, '*'));
/** Requests that change nothing. */
const READ_REQUESTS = CONTRACTS.flatMap(([service, contract]) =>
  Object.keys(contract)
    .filter((name) => contract[name]!.changes !== true)
    .flatMap((name) => request(service, name)),
);

const JETSTREAM = '$JS.API.INFO';

const PUBLISHED = Object.entries(topics) as [TopicName, (typeof topics)[TopicName]][];
const STORED = Object.entries(bucketTable) as [BucketName, (typeof bucketTable)[BucketName]][];
const includes = (roles: readonly Role[], role: Role): boolean => roles.includes(role);

function publishedBy(role: Role, host: string): string[] {
  return PUBLISHED.filter(([, { from }]) => includes(from, role)).flatMap(([name, { key }]) => {
    if (key === 'host') return [`${topicSubject(name)}.${host}`];
    if (key !== 'event') return [wildcard(name)];
    const kinds = EVENT_KINDS.filter((kind) => includes(eventKinds[kind], role));
    return kinds.map((kind) => `${topicSubject(name)}.${kind}.*`);
  });
}

const subscribedBy = (role: Role): string[] =>
  PUBLISHED.filter(([, { to }]) => includes(to, role)).map(([name]) => wildcard(name));

/** The aggregator writes its own lease only. */
const OWN_KEY: Readonly<Partial<Record<Role, string>>> = { aggregator: services.aggregator };

const bucketsOf = (role: Role): string[] =>
  STORED.flatMap(([name, { access }]) => {
    const granted = (access as Partial<Record<Role, Access>>)[role];
    return granted === undefined ? [] : ACCESS[granted](buckets[name], OWN_KEY[role]);
  });

const watchedBy = (role: Role): string[] =>
  STORED.filter(([, bucket]) => includes(bucket.watchedBy, role)).map(
    ([name]) => `$KV.${buckets[name]}.>`,
  );

/** What a role needs besides topics and buckets; `host`: its own, or `*`. */
function furtherOf(role: Role, host: string): Permissions {
  switch (role) {
    case 'hook':
      return { publish: [...REPLIES, JETSTREAM], subscribe: endpoints(services.hook, host) };
    case 'agents':
      return {
        publish: [
          ...REPLIES,
          JETSTREAM,
          ...objects(objectStores.policies),
          ...readStream(streams.trajectories),
        ],
        subscribe: endpoints(services.agents, host),
      };
    case 'aggregator':
      return { publish: [...REPLIES, JETSTREAM], subscribe: endpoints(services.aggregator, '*') };
    case 'viewer':
      return { publish: READ_REQUESTS, subscribe: [] };
    case 'operator':
      return { publish: [JETSTREAM, ...ALL_REQUESTS], subscribe: [] };
  }
}

/**
 * What each role's part needs, derived from the tables. `host`: the one host that it may speak for.
 * No role has `allow_responses`: with it a service would publish its answer to any subject that the
 * requester names as reply, so that a viewer could change things through it.
 */
export function permissionsOf(role: Role, host = '*'): Permissions {
  const further = furtherOf(role, host);
  const requester = REQUESTER_ROLES.includes(role);
  return {
    publish: [
      ...publishedBy(role, host),
      ...bucketsOf(role),
      ...further.publish,
      ...(requester ? DISCOVERY : []),
    ],
    subscribe: [
      ...subscribedBy(role),
      ...watchedBy(role),
      ...further.subscribe,
      ...(requester ? [] : DISCOVERY),
      `${inboxPrefixOf(role)}.>`,
    ],
  };
}
