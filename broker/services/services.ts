import { randomBytes } from 'node:crypto';
import {
  type Clock,
  GleanerError,
  type Millis,
  messageOf,
  systemClock,
} from '../../config/index.js';
import { NoRespondersError, ServiceError, SharedHostNameError } from '../errors.js';
import { EventLoopQueue } from '../event-loop-queue.js';
import type { Broker, BrokerMessage, Subscription } from '../port.js';
import type { StoreState } from '../store-health.js';
import { isSubject } from '../subject-rules.js';
import { isHostName, SUBJECT_PREFIX } from '../subjects.js';

/** A service by the micro convention [NATS ADR-32], so that `nats micro ls` finds it. */
export interface ServiceDefinition {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly host: string;
  /** Constant properties of this instance besides its host. */
  readonly metadata?: Readonly<Record<string, string>>;
  readonly endpoints: Readonly<Record<string, ServiceEndpoint>>;
}

export interface ServiceEndpoint {
  readonly description: string;
  readonly handle: ServiceHandler;
}

/** From the request's JSON (undefined if empty) to the answer's. Exceptions are error answers. */
type ServiceHandler = (request: unknown) => unknown | Promise<unknown>;

export type RunningService = ReturnType<typeof serve>;

/** Fields of the convention; processing times are in nanoseconds. */
const newStats = (name: string, subject: string) => ({
  name,
  subject,
  queue_group: QUEUE,
  num_requests: 0,
  num_errors: 0,
  last_error: '',
  processing_time: 0,
  average_processing_time: 0,
  /** The service's own failures; `num_errors` also counts requests for what does not exist. */
  data: { failures: 0, last_failure: '' },
});
type EndpointStats = ReturnType<typeof newStats>;

const QUEUE = 'q';
const REQUEST_BYTES_MAX = 256 * 1024;
/** Requests of one endpoint that wait at most; more are refused. */
const WAITING_MAX = 64;
/** Refusals that wait at most to be sent; more requests stay without an answer. */
const REFUSALS_MAX = 16;
const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true });
const EMPTY: Uint8Array = new Uint8Array(0);

const json = (value: unknown): Uint8Array => encoder.encode(JSON.stringify(value ?? {}));
const parse = (data: Uint8Array): unknown =>
  data.byteLength === 0 ? undefined : JSON.parse(decoder.decode(data));

/** In place of a host in an endpoint's subject: every instance answers. No host has this name. */
export const ALL_HOSTS = '@all';

/** Without `host` any instance answers, with {@link ALL_HOSTS} each. */
export function endpointSubject(service: string, endpoint: string, host?: string): string {
  const base = `${SUBJECT_PREFIX}.svc.${service}.${endpoint}`;
  return host === undefined ? base : `${base}.${host}`;
}

/** A semantic version, with the build's hash if there is one. */
const VERSION = /^\d+\.\d+\.\d+(\+[\w.-]+)?$/;

/** Starts a service; it answers as long as the broker is connected, until `stop`. */
export function serve(broker: Broker, definition: ServiceDefinition, clock: Clock = systemClock) {
  const { name, version, description, host } = definition;
  if (!/^[\w-]{1,64}$/.test(name) || !VERSION.test(version) || !isHostName(host)) {
    throw new ServiceError(
      500,
      `service ${name} ${version} on ${host}: invalid name, version or host`,
      'use letters, digits, - and _ for the name, and MAJOR.MINOR.PATCH for the version',
    );
  }
  const id = randomBytes(11).toString('base64url').replace(/[-_]/g, 'x');
  const started = new Date(clock.wall() / 1000).toISOString();
  const metadata = { ...definition.metadata, host };
  const identity = { name, id, version, metadata };
  const subscriptions: Subscription[] = [];
  const endpoints: EndpointStats[] = [];

  const refusals = new EventLoopQueue(REFUSALS_MAX);
  const stats = () => ({
    type: 'io.nats.micro.v1.stats_response',
    ...identity,
    started,
    endpoints,
    stores: broker.stores.states(),
    refusedSubjects: broker.refusedSubjects,
  });
  const verbs: Readonly<Record<string, () => unknown>> = {
    PING: () => ({ type: 'io.nats.micro.v1.ping_response', ...identity }),
    INFO: () => ({
      type: 'io.nats.micro.v1.info_response',
      ...identity,
      description,
      endpoints: endpoints.map((e) => ({
        name: e.name,
        subject: e.subject,
        queue_group: e.queue_group,
        metadata: { description: definition.endpoints[e.name]!.description },
      })),
    }),
    STATS: stats,
  };
  const discoveryQueue = new EventLoopQueue(WAITING_MAX);
  for (const [verb, answer] of Object.entries(verbs)) {
    for (const subject of [`$SRV.${verb}`, `$SRV.${verb}.${name}`, `$SRV.${verb}.${name}.${id}`]) {
      subscriptions.push(
        broker.subscribe(subject, ({ reply }) => {
          if (reply !== undefined && isSubject(reply))
            discoveryQueue.run(() => void broker.publish(reply, json(answer()), { urgent: true }));
        }),
      );
    }
  }

  for (const [endpoint, { handle }] of Object.entries(definition.endpoints)) {
    const endpointStats = newStats(endpoint, endpointSubject(name, endpoint));
    endpoints.push(endpointStats);
    const requestQueue = new EventLoopQueue(WAITING_MAX);
    const receive = (message: BrokerMessage): void => {
      const { reply } = message;
      // A message without a reply subject is not a request. Otherwise a user could name this
      // subject as reply of a permitted request, and the answer would arrive here as a request
      // that the user may not send (docs/security.md).
      if (reply === undefined) return;
      if (!isSubject(reply)) fail(endpointStats, 'the reply subject is not a subject');
      else if (
        !requestQueue.run(
          () => void answerOne(broker, message, reply, handle, endpointStats, clock),
        )
      ) {
        fail(endpointStats, 'too many requests wait');
        // Refusals are bounded too: a requester that does not wait for answers needs few of them.
        refusals.run(() => refuse(broker, reply));
      }
    };
    subscriptions.push(broker.subscribe(endpointStats.subject, receive, QUEUE));
    for (const whom of [host, ALL_HOSTS]) {
      subscriptions.push(broker.subscribe(endpointSubject(name, endpoint, whom), receive));
    }
  }
  return {
    id,
    stats,
    stop: (): void => {
      for (const subscription of subscriptions.splice(0)) subscription.unsubscribe();
    },
  };
}

function fail(endpointStats: EndpointStats, reason: string): void {
  endpointStats.num_requests++;
  endpointStats.num_errors++;
  endpointStats.last_error = reason;
}

function errorAnswer(error: unknown): { data: Uint8Array; headers: Record<string, string> } {
  return {
    data:
      error instanceof GleanerError
        ? json({ code: error.code, message: error.message, hint: error.hint })
        : EMPTY,
    headers: {
      // Headers allow printable characters of one line only.
      'Nats-Service-Error': messageOf(error)
        .slice(0, 256)
        .replace(/[^\x20-\x7e]/g, ' '),
      'Nats-Service-Error-Code': String(error instanceof ServiceError ? error.status : 500),
    },
  };
}

function refuse(broker: Broker, reply: string): void {
  const busy = new ServiceError(
    429,
    'too many requests wait',
    'retry, and wait for each answer before the next request',
  );
  const { data, headers } = errorAnswer(busy);
  broker.publish(reply, data, { headers, urgent: true });
}

/** Never rejects: it is not awaited, so that a rejection would end the process. */
async function answerOne(
  broker: Broker,
  message: BrokerMessage,
  reply: string,
  handler: ServiceHandler,
  endpointStats: EndpointStats,
  clock: Clock,
): Promise<void> {
  const begun = clock.monotonic();
  try {
    const data = json(await handler(requestOf(message)));
    if (!broker.publish(reply, data, { urgent: true }) && broker.connected)
      throw new ServiceError(
        500,
        `the answer of ${data.byteLength} bytes is larger than a message may be`,
        'request a smaller page',
      );
  } catch (error) {
    endpointStats.num_errors++;
    endpointStats.last_error = messageOf(error).slice(0, 256);
    if (!(error instanceof ServiceError) || error.status === 500) {
      endpointStats.data.failures++;
      endpointStats.data.last_failure = endpointStats.last_error;
    }
    const { data, headers } = errorAnswer(error);
    broker.publish(reply, data, { headers, urgent: true });
  }
  endpointStats.num_requests++;
  endpointStats.processing_time += Math.round((clock.monotonic() - begun) * 1e6);
  endpointStats.average_processing_time = Math.round(
    endpointStats.processing_time / endpointStats.num_requests,
  );
}

function requestOf({ data }: BrokerMessage): unknown {
  if (data.byteLength > REQUEST_BYTES_MAX) throw new ServiceError(400, 'the request is too large');
  try {
    return parse(data);
  } catch {
    throw new ServiceError(400, 'the request is not JSON');
  }
}

/** Throws {@link ServiceError} if the answer is an error. */
function answerOf(message: BrokerMessage): unknown {
  const status = message.header('Nats-Service-Error-Code');
  if (status === undefined) return parse(message.data);
  let hint: string | undefined;
  try {
    hint = (parse(message.data) as { hint?: string } | undefined)?.hint;
  } catch {
    // Other implementations of the convention may send errors that are not JSON.
  }
  throw new ServiceError(
    Number(status),
    message.header('Nats-Service-Error') ?? 'unknown error',
    hint,
  );
}

/** Rejects with `GLN_SERVICE` for the service's own error, or as `request` does. */
export async function callService(
  broker: Broker,
  call: { service: string; endpoint: string; host?: string; request?: unknown; timeout?: Millis },
): Promise<unknown> {
  const subject = endpointSubject(call.service, call.endpoint, call.host);
  const data = call.request === undefined ? EMPTY : json(call.request);
  return answerOf(await broker.request(subject, data, call.timeout ?? (2000 as Millis)));
}

export interface ServiceInstance {
  readonly name: string;
  readonly id: string;
  readonly version: string;
  /** `engine`: of an agent host's neural networks. */
  readonly metadata: { readonly host?: string; readonly engine?: string };
  readonly stores?: readonly StoreState[];
  readonly refusedSubjects?: readonly string[];
}

/** The second attempt waits this many times longer: on a busy machine services are slow. */
const RETRY_WAIT_FACTOR = 6;

/** All instances of a service or of all services; none: they are not known. */
export type ExpectedInstances = readonly {
  readonly service: string;
  readonly host: string;
  readonly id: string;
}[];

/**
 * The instances that answer within `wait`, or within six times as long if none does. `expected`: it
 * ends soon after these have answered.
 */
export async function findServices(
  broker: Broker,
  service: string | null,
  wait: Millis,
  verb: 'PING' | 'STATS' = 'PING',
  expected: ExpectedInstances = [],
): Promise<ServiceInstance[]> {
  const subject = service === null ? `$SRV.${verb}` : `$SRV.${verb}.${service}`;
  const missing = new Set(
    expected.filter((one) => service === null || one.service === service).map(({ id }) => id),
  );
  // Of a service without a known instance one may be about to be known.
  const isKnown = missing.size > 0;
  const isComplete = (answer: BrokerMessage): boolean => {
    if (!isKnown) return false;
    for (const { id } of instancesIn([answer])) missing.delete(id);
    return missing.size === 0;
  };
  try {
    let answers = await broker.requestMany(subject, EMPTY, wait, isComplete);
    if (answers.length === 0)
      answers = await broker.requestMany(subject, EMPTY, (wait * RETRY_WAIT_FACTOR) as Millis);
    return instancesIn(answers);
  } catch (error) {
    if (error instanceof NoRespondersError) return [];
    throw error;
  }
}

function instancesIn(answers: readonly BrokerMessage[]): ServiceInstance[] {
  const found: ServiceInstance[] = [];
  for (const answer of answers) {
    try {
      const instance = parse(answer.data) as ServiceInstance;
      if (typeof instance?.name === 'string' && typeof instance.id === 'string')
        found.push(instance);
    } catch {
      // Not an answer by the convention.
    }
  }
  return found;
}

export interface ServiceCall {
  readonly service: string;
  readonly endpoint: string;
  readonly request?: unknown;
  readonly wait?: Millis;
  readonly timeout?: Millis;
  /** As in {@link findServices}; not for changes, which every instance must receive. */
  readonly expected?: ExpectedInstances;
  /** For changes: an error for a host with several instances, of which only one has answered. */
  readonly isExclusive?: boolean;
}

/** Hosts with several instances of one service: a cloned machine, or a copied configuration. */
export function sharedNames(
  instances: readonly ServiceInstance[],
): { readonly service: string; readonly host: string; readonly instances: number }[] {
  const ids = new Map<string, { service: string; host: string; ids: Set<string> }>();
  for (const { name, id, metadata } of instances) {
    const host = metadata?.host;
    if (host === undefined) continue;
    const one = ids.get(`${name} ${host}`) ?? { service: name, host, ids: new Set() };
    one.ids.add(id);
    ids.set(`${name} ${host}`, one);
  }
  return [...ids.values()]
    .filter((one) => one.ids.size > 1)
    .map(({ service, host, ids }) => ({ service, host, instances: ids.size }));
}

export interface Page {
  readonly offset: number;
  readonly limit: number;
}

/** Where the page after this one begins; 0 after the last. */
export const nextOffset = ({ offset, limit }: Page, total: number): number =>
  offset + limit < total ? offset + limit : 0;

/** Calls every instance of a service. Answers by host; an error is a value. */
export async function callEveryInstance(
  broker: Broker,
  { expected, isExclusive, ...call }: ServiceCall,
): Promise<Map<string, unknown>> {
  const wait = call.wait ?? (300 as Millis);
  const found = await findServices(broker, call.service, wait, 'PING', expected);
  const answers = await onEveryHost(found, (host) => callService(broker, { ...call, host }));
  if (isExclusive)
    for (const { service, host, instances } of sharedNames(found))
      if (!(answers.get(host) instanceof Error))
        answers.set(host, new SharedHostNameError(instances, service, host));
  return answers;
}

/**
 * As {@link callEveryInstance}, page after page of each instance's functions: its answers in order,
 * or the error. The request of the page that begins at `offset` is `requestOf(offset)`.
 */
export async function callEveryPage(
  broker: Broker,
  { expected, ...call }: Omit<ServiceCall, 'request' | 'isExclusive'>,
  requestOf: (offset: number) => Page,
): Promise<Map<string, unknown>> {
  const wait = call.wait ?? (300 as Millis);
  return await onEveryHost(
    await findServices(broker, call.service, wait, 'PING', expected),
    async (host) => {
      const pages: unknown[] = [];
      let request = requestOf(0);
      for (;;) {
        const answer = await callService(broker, { ...call, host, request });
        pages.push(answer);
        // Not checked yet. An empty page is the last, whatever the total is.
        const { total, functions } = (answer ?? {}) as { total?: number; functions?: unknown[] };
        const next = functions?.length ? nextOffset(request, total ?? 0) : 0;
        if (next === 0) return pages;
        request = requestOf(next);
      }
    },
  );
}

async function onEveryHost(
  instances: readonly ServiceInstance[],
  act: (host: string) => Promise<unknown>,
): Promise<Map<string, unknown>> {
  const answers = new Map<string, unknown>();
  const hosts = new Set(instances.flatMap(({ metadata }) => metadata?.host ?? []));
  await Promise.all(
    [...hosts].map(async (host) => {
      try {
        answers.set(host, await act(host));
      } catch (error) {
        answers.set(host, error);
      }
    }),
  );
  return answers;
}
