import { errorClass, HOST_NAME } from '../config/index.js';
import { functionToken, NO_FUNCTION } from './function-token.js';
import { type BucketName, bucketTable, type EventKind, type TopicName, topics } from './tables.js';

/** Every subject begins with it; the number is the version of all messages. */
export const SUBJECT_PREFIX = 'gleaner.v1';

class HostNameError extends errorClass('GLN_HOST_NAME') {
  constructor(host: string) {
    super(host.slice(0, 80));
  }
}

export const isHostName = (host: string): boolean => HOST_NAME.test(host);

/** The machine's name as a token; other characters become `-`, so two names may collide. */
export const hostNameFrom = (hostname: string): string =>
  hostname.replace(/[^A-Za-z0-9_-]/g, '-').slice(0, 64) || 'host';

function host(name: string): string {
  if (!HOST_NAME.test(name)) throw new HostNameError(name);
  return name;
}

/** A topic's subject up to its key. */
export const topicSubject = (topic: TopicName): string =>
  `${SUBJECT_PREFIX}.${topics[topic].token}`;
const ofFunction = (topic: TopicName, fn: string): string =>
  `${topicSubject(topic)}.${functionToken(fn)}`;
const ofHost = (topic: TopicName, name: string): string => `${topicSubject(topic)}.${host(name)}`;

/** Subject builders; they throw `GLN_FUNCTION_NAME` or `GLN_HOST_NAME` for an invalid name. */
export const subjects = {
  observation: (fn: string): string => ofFunction('observations', fn),
  hostReport: (hostName: string): string => ofHost('hostReports', hostName),
  agentsPartial: (hostName: string): string => ofHost('agentsPartials', hostName),
  announcement: (hostName: string): string => ofHost('announcements', hostName),
  experiences: (hostName: string): string => ofHost('experiences', hostName),
  agentReport: (fn: string): string => ofFunction('agentReports', fn),
  meanField: topicSubject('meanField'),
  target: (fn: string): string => ofFunction('targets', fn),
  trajectory: (fn: string): string => ofFunction('trajectories', fn),
  /** `fn` null: an event of the whole host. */
  event: (kind: EventKind, fn: string | null): string =>
    `${topicSubject('events')}.${kind}.${fn === null ? NO_FUNCTION : functionToken(fn)}`,
} as const;

/** The subscription for all functions, hosts or events of a topic. */
export function wildcard(topic: TopicName): string {
  const { key } = topics[topic];
  const subject = topicSubject(topic);
  if (key === null) return subject;
  return key === 'event' ? `${subject}.>` : `${subject}.*`;
}
const mapped = <K extends string, V>(table: Record<K, unknown>, of: (key: K) => V) =>
  Object.fromEntries((Object.keys(table) as K[]).map((key) => [key, of(key)])) as Record<K, V>;

export const wildcards = { ...mapped(topics, wildcard), everything: `${SUBJECT_PREFIX}.>` };

export const buckets = mapped(bucketTable, (name: BucketName) => `gleaner_${name}`);
export const objectStores = { policies: 'gleaner_policies' } as const;
export const streams = { trajectories: 'gleaner_trajectories' } as const;

export const services = {
  hook: 'gleaner-hook',
  agents: 'gleaner-agents',
  aggregator: 'gleaner-aggregator',
} as const;
