import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * A fake of OpenWhisk's controller for actions and their limits. Sources, at the tags
 * 1.0.0 and 2.0.0 and at master 1fae641a2 of apache/openwhisk; C =
 * core/controller/src/main/scala/org/apache/openwhisk/core/controller, E =
 * common/scala/src/main/scala/org/apache/openwhisk/core/entity, M = common/scala/…/openwhisk/http:
 *
 * - update and what a PUT leaves out: C/Actions.scala `updateWhiskAction`; it raises the patch
 *   version: E/SemVer.scala `upPatch`
 * - 1.0.0 checks ranges while it parses: E/MemoryLimit.scala `apply` (`require`),
 *   E/ConcurrencyLimit.scala; akka-http's default rejection handler puts the text behind
 *   "The request content was malformed:\n" (M/BasicHttpService.scala `customRejectionHandler`)
 * - 2.0.0 and master check them against the namespace: C/Actions.scala `checkActionLimits`,
 *   E/MemoryLimit.scala and E/IntraConcurrencyLimit.scala `checkNamespaceLimit`; texts:
 *   M/ErrorResponse.scala `sizeExceedsAllowedThreshold` and its siblings
 * - `instances`: E/InstanceConcurrencyLimit.scala (at least 0, while parsing), C/Actions.scala
 *   `checkInstanceConcurrencyLessThanNamespaceConcurrency`; absent in 1.0.0, whose parser ignores
 *   unknown fields
 * - ranges of namespaces: E/Identity.scala `UserLimits.allowed…`, read with C/Limits.scala; of the
 *   system: C/Controller.scala `info`
 * - 409: C/ApiUtils.scala `putEntity` (DocumentConflictException); 401: akka-http's
 *   `CredentialsRejected`; 404, 500: M/ErrorResponse.scala
 * - 429: the controller throttles only activations (core/entitlement/Entitlement.scala
 *   `checkUserThrottle`), with this text; for a PUT it comes from a proxy in front
 */
export type Version = '1.0.0' | '2.0.0' | 'master';
export const versions: readonly Version[] = ['1.0.0', '2.0.0', 'master'];

export interface StoredAction {
  namespace: string;
  name: string;
  version: string;
  exec: { kind: string; code: string; binary: boolean };
  parameters: { key: string; value: unknown; encryption?: string }[];
  annotations: { key: string; value: unknown }[];
  limits: {
    memory: number;
    timeout: number;
    logs: number;
    concurrency: number;
    instances?: number;
  };
}

export interface Tenant {
  readonly namespace: string;
  readonly key: string;
  /** E/Identity.scala; MB. */
  limits?: {
    minActionMemory?: number;
    maxActionMemory?: number;
    maxActionConcurrency?: number;
    concurrentInvocations?: number;
  };
}

/** One answer that is not OpenWhisk's usual one, for the next request of this method. */
export interface Fault {
  readonly method: 'GET' | 'PUT';
  readonly status?: number;
  readonly body?: string;
  /** Never answers, or closes the connection. */
  readonly end?: 'hang' | 'reset';
  /** Does what was asked first. */
  readonly carriedOut?: boolean;
}

export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

interface SystemLimits {
  memory: { min: number; max: number };
  concurrency: { min: number; max: number };
  /** `limits.actions.invokes.concurrent`: 30 by Ansible. */
  concurrentInvocations: number;
}

export const KEY = '23bc46b1-71f6-4ed5-8c54-816aa4f8c502:s3cr3t-0f-guest';
const MB = 1024 * 1024;

type Reply = readonly [status: number, value: unknown];
const say = (status: number, value: unknown): Reply => [status, value];
const refuse = (status: number, error: string): Reply => [
  status,
  { error, code: 'tid0123456789abcdef' },
];

export class FakeOpenWhiskRest {
  readonly actions = new Map<string, StoredAction>();
  readonly tenants: Tenant[] = [{ namespace: 'guest', key: KEY }];
  readonly faults: Fault[] = [];
  readonly seen: Seen[] = [];
  readonly system: SystemLimits = {
    memory: { min: 128, max: 512 },
    concurrency: { min: 1, max: 1 },
    concurrentInvocations: 30,
  };
  /**
   * Runs where a PUT has read the action and has not written it: what it changes makes a conflict.
   */
  between: (() => void) | null = null;
  /** The PUT of this number (from 1) is never answered. */
  hangAtPut: { readonly number: number; readonly carriedOut: boolean } | null = null;
  readonly #version: Version;
  readonly #server: Server;

  private constructor(version: Version) {
    this.#version = version;
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  static async start(version: Version): Promise<FakeOpenWhiskRest> {
    const fakeOpenWhisk = new FakeOpenWhiskRest(version);
    await new Promise<void>((resolve) => fakeOpenWhisk.#server.listen(0, '127.0.0.1', resolve));
    return fakeOpenWhisk;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  add(
    path: string,
    limits: Partial<StoredAction['limits']> = {},
    annotations: Record<string, unknown> = {},
  ): StoredAction {
    const parts = path.split('/');
    const name = parts.pop()!;
    const action: StoredAction = {
      namespace: parts.join('/'),
      name,
      version: '0.0.1',
      exec: {
        kind: 'nodejs:20',
        code: `function main() { return { of: '${name}' } }`,
        binary: false,
      },
      parameters: [{ key: 'password', value: 'p4r4m-s3cr3t' }],
      annotations: [
        ...Object.entries(annotations).map(([key, value]) => ({ key, value })),
        ...('exec' in annotations ? [] : [{ key: 'exec', value: 'nodejs:20' }]),
      ],
      limits: { memory: 256, timeout: 60_000, logs: 10, concurrency: 1, ...limits },
    };
    this.actions.set(path, action);
    return action;
  }

  /** What a user does by `wsk action update`. */
  userSets(path: string, limits: Partial<StoredAction['limits']>): void {
    const action = this.actions.get(path)!;
    this.actions.set(path, {
      ...action,
      version: upPatch(action.version),
      limits: { ...action.limits, ...limits },
    });
  }

  puts(): Seen[] {
    return this.seen.filter(({ method }) => method === 'PUT');
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '/' } = request;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString('utf8');
    const { pathname, searchParams } = new URL(url, this.url);
    this.seen.push({ method, path: decodeURIComponent(pathname), body });
    if (method === 'PUT' && this.puts().length === this.hangAtPut?.number) {
      if (this.hangAtPut.carriedOut) this.#answer(method, pathname, searchParams, request, body);
      return;
    }
    const at = this.faults.findIndex((one) => one.method === method);
    const [fault] = at < 0 ? [] : this.faults.splice(at, 1);
    if (fault !== undefined) {
      if (fault.carriedOut) this.#answer(method, pathname, searchParams, request, body);
      if (fault.end === 'reset') request.socket.destroy();
      if (fault.end !== undefined) return;
      response.writeHead(fault.status!, {
        'content-type': fault.body?.startsWith('<') ? 'text/html' : 'application/json',
      });
      response.end(fault.body ?? '');
      return;
    }
    const [status, value] = this.#answer(method, pathname, searchParams, request, body);
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(value));
  }

  #answer(
    method: string,
    pathname: string,
    query: URLSearchParams,
    request: IncomingMessage,
    body: string,
  ): Reply {
    if (pathname === '/') return say(200, this.#info());
    const basic = /^Basic (.*)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    const tenant = this.tenants.find(({ key }) => Buffer.from(basic, 'base64').toString() === key);
    if (tenant === undefined) return refuse(401, 'The supplied authentication is invalid');
    const [, api, v1, collection, namespace, kind, ...rest] =
      decodeURIComponent(pathname).split('/');
    if (api !== 'api' || v1 !== 'v1' || collection !== 'namespaces')
      return refuse(404, 'The requested resource could not be found.');
    if (namespace === undefined) return say(200, [tenant.namespace]);
    if (namespace !== '_' && namespace !== tenant.namespace)
      return refuse(403, `The supplied authentication is not authorized to access '${namespace}'.`);
    if (kind === 'limits') return say(200, this.#limits(tenant));
    if (rest.length === 0) return this.#list(tenant, query);
    const path = [tenant.namespace, ...rest].join('/');
    const action = this.actions.get(path);
    if (method === 'PUT') return this.#put(tenant, path, action, JSON.parse(body));
    if (action === undefined) return refuse(404, 'The requested resource does not exist.');
    const { code, ...exec } = action.exec;
    return say(200, {
      ...action,
      publish: false,
      exec: query.get('code') === 'false' ? exec : { code, ...exec },
    });
  }

  #list(tenant: Tenant, query: URLSearchParams): Reply {
    const [limit, skip] = [Number(query.get('limit') ?? 30), Number(query.get('skip') ?? 0)];
    // M/ErrorResponse.scala `listLimitOutOfRange`.
    if (limit > 200)
      return refuse(400, `The value '${limit}' is not in the range of 0 to 200 for actions.`);
    const own = [...this.actions]
      .filter(([path]) => path.startsWith(`${tenant.namespace}/`))
      .map(([, action]) => action);
    // E/WhiskAction.scala `summaryAsJson`: no parameters, no kind.
    return say(
      200,
      own
        .slice(skip, skip + limit)
        .map(({ namespace, name, version, annotations, limits, exec }) => ({
          namespace,
          name,
          version,
          publish: false,
          annotations,
          limits,
          exec: { binary: exec.binary },
          updated: 1_700_000_000_000,
        })),
    );
  }

  #put(
    tenant: Tenant,
    path: string,
    action: StoredAction | undefined,
    content: { exec?: StoredAction['exec']; limits?: Partial<StoredAction['limits']> },
  ): Reply {
    const wrong = this.#wrongLimits(tenant, content.limits ?? {});
    if (wrong !== null) return refuse(400, wrong);
    if (action === undefined && content.exec === undefined) return refuse(400, 'exec undefined');
    if (action!.exec.kind === 'nodejs:6')
      return refuse(
        400,
        "The 'nodejs:6' runtime is no longer supported. " +
          'You may read and delete but not update or invoke this action.',
      );
    this.between?.();
    if (this.actions.get(path) !== action)
      return refuse(409, 'Concurrent modification to resource detected.');
    const { instances, ...limits } = content.limits ?? {};
    const after: StoredAction = {
      ...action!,
      exec: content.exec ?? action!.exec,
      version: upPatch(action!.version),
      limits: {
        ...action!.limits,
        ...limits,
        ...(instances === undefined || this.#version === '1.0.0' ? {} : { instances }),
      },
    };
    this.actions.set(path, after);
    return say(200, { ...after, publish: false });
  }

  /** The text of the 400, or null. */
  #wrongLimits(
    tenant: Tenant,
    { memory, concurrency, instances }: Partial<StoredAction['limits']>,
  ): string | null {
    const malformed = (text: string): string => `The request content was malformed:\n${text}`;
    if (this.#version === '1.0.0') {
      const check = (
        name: string,
        value: number | undefined,
        { min, max }: { min: number; max: number },
        unit: string,
      ) => {
        if (value === undefined || (value >= min && value <= max)) return null;
        const [side, threshold] = value < min ? ['below', min] : ['exceeds', max];
        const bound = `${side} allowed threshold of ${threshold}${unit}`;
        return malformed(`requirement failed: ${name} ${value}${unit} ${bound}`);
      };
      return (
        check('memory', memory, this.system.memory, ' MB') ??
        check('concurrency', concurrency, this.system.concurrency, '')
      );
    }
    if (instances !== undefined && instances < 0)
      return malformed(
        'requirement failed: Action container concurrency must be greater than or equal to 0.',
      );
    const allowed = this.#allowed(tenant);
    const outside = (what: string, side: 'exceeds' | 'below', threshold: string): string =>
      `requirement failed: ${what} ${side} allowed threshold of ${threshold}`;
    if (memory !== undefined && memory > allowed.maxActionMemory)
      return outside(`memory size ${memory} MB`, 'exceeds', `${allowed.maxActionMemory} MB`);
    if (memory !== undefined && memory < allowed.minActionMemory)
      return outside(`memory size ${memory} MB`, 'below', `${allowed.minActionMemory} MB`);
    if (concurrency !== undefined && concurrency > allowed.maxActionConcurrency)
      return outside(`concurrency ${concurrency}`, 'exceeds', `${allowed.maxActionConcurrency}`);
    if (concurrency !== undefined && concurrency < allowed.minActionConcurrency)
      return outside(`concurrency ${concurrency}`, 'below', `${allowed.minActionConcurrency}`);
    if (instances !== undefined && instances > allowed.maxActionInstances)
      return (
        'Max action instance concurrency must not exceed your namespace concurrency of ' +
        `${allowed.maxActionInstances}.`
      );
    return null;
  }

  /** E/Identity.scala: the namespace's own, inside the system's. */
  #allowed({ limits = {} }: Tenant) {
    const { memory, concurrency, concurrentInvocations } = this.system;
    return {
      minActionMemory: Math.max(limits.minActionMemory ?? memory.min, memory.min),
      maxActionMemory: Math.min(limits.maxActionMemory ?? memory.max, memory.max),
      minActionConcurrency: concurrency.min,
      maxActionConcurrency: Math.min(
        limits.maxActionConcurrency ?? concurrency.max,
        concurrency.max,
      ),
      maxActionInstances: limits.concurrentInvocations ?? concurrentInvocations,
    };
  }

  #limits(tenant: Tenant): object {
    const common = {
      invocationsPerMinute: 60,
      concurrentInvocations:
        tenant.limits?.concurrentInvocations ?? this.system.concurrentInvocations,
      firesPerMinute: 60,
    };
    if (this.#version === '1.0.0') return common;
    return {
      ...common,
      ...this.#allowed(tenant),
      minActionLogs: 0,
      maxActionLogs: 10,
      maxParameterSize: '1 MB',
    };
  }

  #info(): object {
    const { memory } = this.system;
    const system = { min_action_memory: memory.min * MB, max_action_memory: memory.max * MB };
    return {
      description: 'OpenWhisk',
      api_paths: ['/api/v1'],
      limits:
        this.#version === '1.0.0'
          ? system
          : {
              ...system,
              default_min_action_memory: memory.min * MB,
              default_max_action_memory: memory.max * MB,
            },
      runtimes: {},
    };
  }
}

function upPatch(version: string): string {
  const [major, minor, patch] = version.split('.').map(Number) as [number, number, number];
  return `${major}.${minor}.${patch + 1}`;
}
