import { readFileSync } from 'node:fs';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import openwhisk from 'openwhisk';
import { z } from 'zod';
import { isOpenToOthers } from '../../broker/nats/index.js';
import { type Millis, messageOf } from '../../config/index.js';
import {
  ActionConflictError,
  ActionNotFoundError,
  KeysFileError,
  OpenWhiskAuthError,
  OpenWhiskRefusedError,
  OpenWhiskResponseError,
  OpenWhiskUnavailableError,
} from './rest-errors.js';
import {
  actionSchema,
  type LimitValues,
  namespaceLimitsSchema,
  platformSchema,
  type RestAction,
  type RestNamespaceLimits,
  type RestPlatform,
} from './rest-schemas.js';

/** OpenWhisk's largest page (`whisk.query-limit.max-list-limit` of application.conf). */
const PAGE = 200;
const DETAIL_MAX = 300;

export interface RestSettings {
  /** `https://host[:port]`, without a path; no user or password in it. */
  readonly apiHost: string;
  /** `uuid:key` of one namespace. Never in a message, a log or an error. */
  readonly key: string;
  /** For connecting, for the answer to begin and for it to end, each. */
  readonly timeout: Millis;
  /** PEM of the authority that signed the API's certificate; null: the system's. */
  readonly ca: string | null;
}

/** What `openwhisk` has and does not declare: one request of any kind. */
interface RawClient {
  request(method: string, path: string, options: Record<string, unknown>): Promise<unknown>;
}

/**
 * OpenWhisk's REST API of one namespace, through the package `openwhisk`: reads actions and limits,
 * writes limits. One request a call, no retries here: the caller knows whether a retry is
 * safe.
 */
export class OpenWhiskRest {
  readonly #client: RawClient;
  readonly #timeout: Millis;
  readonly #apiHost: string;

  constructor({ apiHost, key, timeout, ca }: RestSettings) {
    const secure = apiHost.startsWith('https:');
    // Closed after each answer: a run makes few calls, and an idle connection would keep the
    // process.
    const agent = secure ? new HttpsAgent(ca === null ? {} : { ca }) : new HttpAgent();
    const client = openwhisk({ apihost: apiHost, api_key: key, agent });
    this.#client = (client.actions as unknown as { client: RawClient }).client;
    this.#timeout = timeout;
    this.#apiHost = apiHost;
  }

  /** The namespaces of this key: one, its own (Namespaces.scala). */
  async namespace(): Promise<string> {
    const names = z.array(z.string()).min(1);
    const [name] = await this.#send('GET', 'namespaces', 'open its namespace', names);
    return name!;
  }

  platform(): Promise<RestPlatform> {
    return this.#send('GET', '/', 'describe itself', platformSchema);
  }

  namespaceLimits(): Promise<RestNamespaceLimits> {
    const what = "read its namespace's limits";
    return this.#send('GET', 'namespaces/_/limits', what, namespaceLimitsSchema);
  }

  /** All actions of the namespace and of its packages. */
  async actions(): Promise<RestAction[]> {
    const all: RestAction[] = [];
    for (;;) {
      const qs = { limit: PAGE, skip: all.length };
      const path = 'namespaces/_/actions';
      const page = await this.#send('GET', path, 'list actions', z.array(actionSchema), { qs });
      all.push(...page);
      if (page.length < PAGE) return all;
    }
  }

  /** `path`: `action` or `package/action`. Without its code. */
  action(path: string): Promise<RestAction> {
    const qs = { code: false };
    return this.#send('GET', this.#path(path), `read ${path}`, actionSchema, { qs });
  }

  /**
   * Writes the limits given and nothing else: what a PUT with `overwrite` leaves out stays as it
   * is, code, parameters, annotations and other limits (Actions.scala, updateWhiskAction, alike in
   * 1.0.0, 2.0.0 and master). Makes a new version even if nothing differs, and so cold starts.
   * @returns the action as OpenWhisk now has it; null where it does not say
   */
  setLimits(path: string, limits: LimitValues): Promise<RestAction | null> {
    const options = { qs: { overwrite: true }, body: { limits } };
    // With `whisk.feature-flags.require-response-payload` false the answer is the text "OK"
    // (ApiUtils.scala, putEntity).
    const answer = actionSchema.nullable().catch(null);
    return this.#send('PUT', this.#path(path), `change ${path}`, answer, options);
  }

  #path(action: string): string {
    return `namespaces/_/actions/${action.split('/').map(encodeURIComponent).join('/')}`;
  }

  async #send<T>(
    method: 'GET' | 'PUT',
    path: string,
    what: string,
    schema: z.ZodType<T>,
    options: Record<string, unknown> = {},
  ): Promise<T> {
    let answer: unknown;
    try {
      answer = await this.#client.request(method, path, {
        ...options,
        open_timeout: this.#timeout,
        response_timeout: this.#timeout,
        read_timeout: this.#timeout,
      });
    } catch (error) {
      throw restError(error, what, method === 'PUT', this.#apiHost);
    }
    const parsed = schema.safeParse(answer);
    if (parsed.success) return parsed.data;
    // Only paths of invalid fields, never values: an answer holds parameters.
    const wrong = parsed.error.issues
      .map((issue) => issue.path.join('.') || 'the whole')
      .slice(0, 3);
    throw new OpenWhiskResponseError(what, wrong.join(', '));
  }
}

/** OpenWhisk's error text (ErrorResponse.scala: `{error, code}`). */
function errorDetail(error: unknown): string {
  const body = (error as { error?: { error?: unknown } | null }).error;
  const text = typeof body?.error === 'string' ? body.error : 'no reason given';
  return text.replace(/\s+/g, ' ').slice(0, DETAIL_MAX);
}

/** Texts for the codes of Node and the resolver when no connection was made. */
const UNREACHABLE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the network',
  ENOTFOUND: 'its name is not known',
  EAI_AGAIN: 'its name cannot be resolved now',
};

function restError(error: unknown, what: string, writes: boolean, apiHost: string): Error {
  const { statusCode: status } = error as { statusCode?: number };
  const code = status === undefined ? /\bE[A-Z_]{5,}\b/.exec(errorDetail(error))?.[0] : undefined;
  const why = code === undefined ? undefined : UNREACHABLE[code];
  if (why !== undefined)
    return new OpenWhiskUnavailableError(`be reached at ${apiHost}`, why, false, true);
  // Without a status there was no answer: a write may have been carried out.
  if (status === undefined) return new OpenWhiskUnavailableError(what, errorDetail(error), writes);
  if (status === 401 || status === 403) return new OpenWhiskAuthError(what, status);
  if (status === 404) return new ActionNotFoundError(what);
  if (status === 409) return new ActionConflictError(what);
  if (status === 429)
    return new OpenWhiskUnavailableError(what, `HTTP 429: ${errorDetail(error)}`, false);
  if (status >= 500)
    return new OpenWhiskUnavailableError(what, `HTTP ${status}: ${errorDetail(error)}`, writes);
  return new OpenWhiskRefusedError(what, status, errorDetail(error));
}

/** One `uuid:key` per line; `#` begins a comment. {@link KeysFileError} holds no key. */
export function readKeys(path: string): string[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
    if (isOpenToOthers(path)) throw new Error('others may read it');
  } catch (error) {
    throw new KeysFileError(path, messageOf(error));
  }
  const keys: string[] = [];
  for (const [i, line] of text.split('\n').entries()) {
    const key = line.replace(/#.*/, '').trim();
    if (key === '') continue;
    if (!/^[^\s:]+:[^\s:]+$/.test(key))
      throw new KeysFileError(path, `line ${i + 1} is not uuid:key`);
    keys.push(key);
  }
  if (keys.length === 0) throw new KeysFileError(path, 'there is none in it');
  return keys;
}
