import { EVENT_KINDS } from './event-kind.js';
import { buckets, objectStores, SUBJECT_PREFIX, services, streams, wildcards } from './subjects.js';

/** Who talks on NATS. One user each; hooks and agent hosts may have one user per host. */
export const ROLES = ['hook', 'agents', 'aggregator', 'viewer', 'operator'] as const;
export type Role = (typeof ROLES)[number];

/** Everything else is denied. */
export interface Permissions {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
}

/** Endpoints of services that change nothing. */
const READ_ENDPOINTS = ['list', 'inspect', 'explain', 'advice', 'concurrency'] as const;

/** Answers to one role's questions go where only that role may listen. */
export const inboxPrefixOf = (role: Role): string => `_INBOX_gleaner_${role}`;

const DISCOVERY = ['PING', 'INFO', 'STATS'].flatMap((verb) => [`$SRV.${verb}`, `$SRV.${verb}.>`]);
/** Those who ask services questions. */
const REQUESTER_ROLES: readonly Role[] = ['viewer', 'operator'];
const REPLY_SUBJECTS = REQUESTER_ROLES.map((role) => `${inboxPrefixOf(role)}.>`);
const SERVICE_NAMES = Object.values(services);

/** Opening a stream, made where it is missing, and reading single records of it. */
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
/** Taking entries away with all that is kept of them. */
const sweepBucket = (bucket: string): string[] => [
  ...writeBucket(bucket),
  `$JS.API.STREAM.MSG.DELETE.KV_${bucket}`,
];

/**
 * An object is read through a consumer of its own, for which the client looks up the stream, and
 * replaced by purging its old chunks.
 */
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

/** A service's endpoints, as its instance on `host` listens to them; `*`: any host. */
const endpoints = (service: string, host: string): string[] => {
  const all = `${SUBJECT_PREFIX}.svc.${service}.*`;
  return host === '*' ? [all, `${all}.*`] : [all, `${all}.${host}`, `${all}.@all`];
};

const asks = (names: readonly string[]): string[] =>
  SERVICE_NAMES.flatMap((service) =>
    names.flatMap((name) => [
      `${SUBJECT_PREFIX}.svc.${service}.${name}`,
      `${SUBJECT_PREFIX}.svc.${service}.${name}.*`,
    ]),
  );

const WATCHED = [
  wildcards.observations,
  wildcards.experiences,
  wildcards.hostReports,
  wildcards.agentsPartials,
  wildcards.agentReports,
  wildcards.targets,
  `${SUBJECT_PREFIX}.meanfield`,
  wildcards.events,
  `$KV.${buckets.mode}.>`,
  `$KV.${buckets.functions}.>`,
  `$KV.${buckets.actions}.>`,
];
const JETSTREAM = '$JS.API.INFO';

/**
 * What each role may do, and nothing else (design §5): the least that its part needs. `host`: the
 * one host that a hook or an agent host may speak for; without it, any.
 *
 * No role has `allow_responses`: with it a service could be made to publish its answer wherever the
 * asker's reply subject says, so who may only look could change things through it. Answers go to
 * the askers' inboxes alone.
 */
export function permissionsOf(role: Role, host = '*'): Permissions {
  const inbox = `${inboxPrefixOf(role)}.>`;
  switch (role) {
    case 'hook':
      return {
        publish: [
          wildcards.observations,
          `${SUBJECT_PREFIX}.host.${host}`,
          `${SUBJECT_PREFIX}.experiences.${host}`,
          ...EVENT_KINDS.filter((kind) => kind !== 'action' && kind !== 'concurrency').map(
            (kind) => `${SUBJECT_PREFIX}.event.${kind}.*`,
          ),
          ...REPLY_SUBJECTS,
          JETSTREAM,
          ...readBucket(buckets.mode),
          ...readBucket(buckets.policy),
          ...readBucket(buckets.actions),
        ],
        subscribe: [
          wildcards.targets,
          ...endpoints(services.hook, host),
          ...DISCOVERY,
          `$KV.${buckets.mode}.>`,
          `$KV.${buckets.policy}.>`,
          `$KV.${buckets.actions}.>`,
          inbox,
        ],
      };
    case 'agents':
      return {
        publish: [
          wildcards.targets,
          wildcards.agentReports,
          `${SUBJECT_PREFIX}.agents.${host}`,
          `${SUBJECT_PREFIX}.event.lifecycle.*`,
          `${SUBJECT_PREFIX}.event.concurrency.*`,
          `${SUBJECT_PREFIX}.trajectory.*`,
          ...REPLY_SUBJECTS,
          JETSTREAM,
          ...sweepBucket(buckets.functions),
          ...readBucket(buckets.actions),
          ...sweepBucket(buckets.leases),
          ...writeBucket(buckets.policy),
          ...objects(objectStores.policies),
          ...readStream(streams.trajectories),
        ],
        subscribe: [
          wildcards.observations,
          wildcards.experiences,
          `${SUBJECT_PREFIX}.meanfield`,
          `$KV.${buckets.leases}.>`,
          `$KV.${buckets.actions}.>`,
          ...endpoints(services.agents, host),
          ...DISCOVERY,
          inbox,
        ],
      };
    case 'aggregator':
      return {
        publish: [
          `${SUBJECT_PREFIX}.meanfield`,
          ...REPLY_SUBJECTS,
          JETSTREAM,
          ...writeBucket(buckets.leases, services.aggregator),
        ],
        subscribe: [
          wildcards.agentsPartials,
          wildcards.hostReports,
          ...endpoints(services.aggregator, '*'),
          ...DISCOVERY,
          inbox,
        ],
      };
    case 'viewer':
      return { publish: [...DISCOVERY, ...asks(READ_ENDPOINTS)], subscribe: [...WATCHED, inbox] };
    case 'operator':
      return {
        publish: [
          ...DISCOVERY,
          ...asks(['*']),
          `${SUBJECT_PREFIX}.event.action.*`,
          JETSTREAM,
          ...writeBucket(buckets.mode),
          ...writeBucket(buckets.policy),
          ...sweepBucket(buckets.actions),
        ],
        subscribe: [...WATCHED, `$KV.${buckets.policy}.>`, inbox],
      };
  }
}
