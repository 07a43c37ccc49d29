import { setTimeout as sleep } from 'node:timers/promises';

/** OpenWhisk's record of one activation. */
export interface ActivationRecord {
  readonly activationId: string;
  readonly name: string;
  /** ms since 1970. */
  readonly start: number;
  readonly duration?: number;
  readonly annotations: readonly { readonly key: string; readonly value: unknown }[];
  readonly response: {
    readonly status: string;
    readonly success: boolean;
    readonly result?: unknown;
  };
}

export interface ActionLimits {
  readonly memory?: number;
  readonly timeout?: number;
  readonly concurrency?: number;
}

export interface Reply {
  readonly status: number;
  readonly body: unknown;
}

/**
 * OpenWhisk's REST API, as a user of the namespace `guest` calls it; nothing of Gleaner's client.
 */
export class OpenWhiskApi {
  readonly host: string;
  readonly key: string;
  readonly #authorization: string;

  constructor(host: string, key: string) {
    this.host = host;
    this.key = key;
    this.#authorization = `Basic ${Buffer.from(key).toString('base64')}`;
  }

  async answers(): Promise<boolean> {
    return this.request('GET', 'namespaces/_/limits').then(
      ({ status }) => status === 200,
      () => false,
    );
  }

  async request(method: string, path: string, body?: unknown): Promise<Reply> {
    const response = await fetch(`${this.host}/api/v1/${path}`, {
      method,
      headers: { authorization: this.#authorization, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? null : parsed(text) };
  }

  async put(path: string, body: unknown): Promise<void> {
    const { status, body: answer } = await this.request(
      'PUT',
      `namespaces/_/${path}?overwrite=true`,
      body,
    );
    if (status !== 200) throw new Error(`PUT ${path}: ${status} ${JSON.stringify(answer)}`);
  }

  async putAction(
    name: string,
    code: string,
    limits: ActionLimits = {},
    more: object = {},
  ): Promise<void> {
    await this.put(`actions/${encoded(name)}`, {
      exec: { kind: 'nodejs:20', code },
      limits,
      ...more,
    });
  }

  async action(name: string): Promise<{ version: string; limits: Required<ActionLimits> }> {
    return (await this.request('GET', `namespaces/_/actions/${encoded(name)}?code=false`))
      .body as never;
  }

  /**
   * The record of a blocking invocation; where OpenWhisk answers with the id alone (202), it is
   * waited for.
   */
  async invoke(name: string, parameters: unknown = {}): Promise<ActivationRecord> {
    const { status, body } = await this.request(
      'POST',
      `namespaces/_/actions/${encoded(name)}?blocking=true`,
      parameters,
    );
    const record = body as ActivationRecord;
    if (record?.activationId === undefined)
      throw new Error(`${name}: ${status} ${JSON.stringify(body)}`);
    return status === 202 ? await this.activation(record.activationId) : record;
  }

  async activation(id: string): Promise<ActivationRecord> {
    for (let attempt = 0; attempt < 1800; attempt++) {
      const { status, body } = await this.request('GET', `namespaces/_/activations/${id}`);
      if (status === 200) return body as ActivationRecord;
      await sleep(100);
    }
    throw new Error(`no record of activation ${id}`);
  }

  /**
   * Every activation since a moment (ms since 1970) that ran in a container: no sequences, triggers
   * or rules.
   */
  async ranInContainers(since: number): Promise<ActivationRecord[]> {
    const found: ActivationRecord[] = [];
    for (let skip = 0; ; skip += 100) {
      const path = `namespaces/_/activations?docs=true&limit=100&skip=${skip}&since=${since}`;
      const page = (await this.request('GET', path)).body as ActivationRecord[];
      found.push(...page.filter(({ annotations }) => annotations.some(isContainerKind)));
      if (page.length < 100) return found;
    }
  }
}

/** `/namespace/package/action`, as Gleaner names functions. */
export function functionOf({ annotations }: ActivationRecord): string {
  return `/${annotations.find(({ key }) => key === 'path')?.value}`;
}

const isContainerKind = ({ key, value }: { key: string; value: unknown }): boolean =>
  key === 'kind' && String(value).startsWith('nodejs');

const encoded = (name: string): string => name.split('/').map(encodeURIComponent).join('/');

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
