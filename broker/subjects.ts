import { errorClass } from '../config/index.js';
import type { EventKind } from './event-kind.js';
import { functionToken, NO_FUNCTION } from './function-token.js';

/** Every subject begins with it; the number is the version of all messages. */
export const SUBJECT_PREFIX = 'gleaner.v1';

const HOST = /^[A-Za-z0-9_-]{1,64}$/;

class HostNameError extends errorClass('GLN_HOST_NAME') {
  constructor(host: string) {
    super(host.slice(0, 80));
  }
}

export const isHostName = (host: string): boolean => HOST.test(host);

/** The machine's name as a token; other characters become `-`, so two names may collide. */
export const hostNameFrom = (hostname: string): string =>
  hostname.replace(/[^A-Za-z0-9_-]/g, '-').slice(0, 64) || 'host';

function host(name: string): string {
  if (!HOST.test(name)) throw new HostNameError(name);
  return name;
}

/** Subject builders; they throw `GLN_FUNCTION_NAME` or `GLN_HOST_NAME` for an invalid name. */
export const subjects = {
  observation: (fn: string): string => `${SUBJECT_PREFIX}.obs.${functionToken(fn)}`,
  hostReport: (hostName: string): string => `${SUBJECT_PREFIX}.host.${host(hostName)}`,
  agentsPartial: (hostName: string): string => `${SUBJECT_PREFIX}.agents.${host(hostName)}`,
  experiences: (hostName: string): string => `${SUBJECT_PREFIX}.experiences.${host(hostName)}`,
  agentReport: (fn: string): string => `${SUBJECT_PREFIX}.agent.${functionToken(fn)}`,
  meanField: `${SUBJECT_PREFIX}.meanfield`,
  target: (fn: string): string => `${SUBJECT_PREFIX}.target.${functionToken(fn)}`,
  /** `fn` null: an event of the whole host. */
  event: (kind: EventKind, fn: string | null): string =>
    `${SUBJECT_PREFIX}.event.${kind}.${fn === null ? NO_FUNCTION : functionToken(fn)}`,
} as const;

/** Subscriptions for all functions or hosts. */
export const wildcards = {
  everything: `${SUBJECT_PREFIX}.>`,
  observations: `${SUBJECT_PREFIX}.obs.*`,
  hostReports: `${SUBJECT_PREFIX}.host.*`,
  agentsPartials: `${SUBJECT_PREFIX}.agents.*`,
  agentReports: `${SUBJECT_PREFIX}.agent.*`,
  experiences: `${SUBJECT_PREFIX}.experiences.*`,
  targets: `${SUBJECT_PREFIX}.target.*`,
  events: `${SUBJECT_PREFIX}.event.>`,
  trajectories: `${SUBJECT_PREFIX}.trajectory.*`,
} as const;

/** Key-value buckets. Keys are function tokens unless the message says otherwise. */
export const buckets = {
  functions: 'gleaner_functions',
  mode: 'gleaner_mode',
  leases: 'gleaner_leases',
  policy: 'gleaner_policy',
  actions: 'gleaner_actions',
} as const;

export const objectStores = { policies: 'gleaner_policies' } as const;
export const streams = { trajectories: 'gleaner_trajectories' } as const;
/** The subject of a function's trajectories, which the stream records. */
export const trajectorySubject = (fn: string): string =>
  `${SUBJECT_PREFIX}.trajectory.${functionToken(fn)}`;

export const services = {
  hook: 'gleaner-hook',
  agents: 'gleaner-agents',
  aggregator: 'gleaner-aggregator',
} as const;
