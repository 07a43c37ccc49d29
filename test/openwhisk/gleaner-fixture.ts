import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { GleanerProcess } from '../../bench/benefit/gleaner-process.js';
import { type Broker, services } from '../../broker/index.js';
import { NatsBroker } from '../../broker/nats/index.js';
import { callService, type ExplanationView } from '../../broker/services/index.js';

const HOST = 'openwhisk';

/** What `inspect` of the hook answers, as far as it is looked at here. */
export interface HookView {
  readonly host: { readonly running: number };
  readonly functions: readonly {
    readonly name: string;
    readonly activations: number;
    readonly concurrent: boolean;
  }[];
  readonly containers: readonly { readonly name: string; readonly function: string | null }[];
  readonly unmanaged: readonly unknown[];
  readonly counters: Readonly<Record<string, number>>;
}

export interface Explained {
  readonly activations: readonly ExplanationView[];
  readonly failedInits?: { readonly count: number } | null;
}

/**
 * The built product beside OpenWhisk, with every part of its own: `gleaner up` in mode enforce on
 * this host's Docker.
 */
export class GleanerFixture {
  readonly process: GleanerProcess;
  #broker: Broker | null = null;

  constructor(overrides: Record<string, unknown> = {}) {
    const { hook, decision, ...rest } = overrides as Record<string, object | undefined>;
    this.process = new GleanerProcess({
      mode: 'enforce',
      decision: { controlShare: 0, ...decision },
      hook: { containerPrefix: 'wsk0', hostName: HOST, ...hook },
      ...rest,
    });
  }

  get folder(): string {
    return this.process.folder;
  }

  get configFile(): string {
    return join(this.folder, 'gleaner.yaml');
  }

  async start(): Promise<void> {
    await this.process.start(60_000);
    const { servers } = JSON.parse(readFileSync(join(this.folder, 'state', 'up.json'), 'utf8'));
    this.#broker = new NatsBroker({ servers, name: 'openwhisk-test' });
  }

  async inspect(): Promise<HookView> {
    return (await this.#ask('inspect')) as HookView;
  }

  async explain(fn: string): Promise<Explained> {
    return (await this.#ask('explain', { function: fn })) as Explained;
  }

  /** The hook's answer; asked again while it is away. */
  async #ask(endpoint: string, request?: unknown): Promise<unknown> {
    const end = Date.now() + 30_000;
    for (;;) {
      try {
        const call = { service: services.hook, endpoint, request, host: HOST };
        return await callService(this.#broker!, call);
      } catch {
        // NATS is on its way back.
      }
      if (Date.now() > end) throw new Error(`the hook does not answer:\n${this.process.output}`);
      await sleep(100);
    }
  }

  async stop(): Promise<void> {
    await this.#broker?.close();
    this.#broker = null;
    await this.process.stop();
  }
}
