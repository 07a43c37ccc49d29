import type { Broker } from '../../broker/index.js';
import type { HostView } from '../../broker/services/index.js';
import type { Config } from '../../config/index.js';
import { connectBroker, inspectHooks } from '../../runtime/index.js';
import type { LiveModel } from '../live-view.js';
import { FunctionPages } from './function-pages.js';

const POLL_MILLIS = 1000;

/** Polls the hooks over NATS, one request at a time, and keeps their newest answers. */
export class LiveFeed {
  readonly #broker: Broker;
  readonly #timer: NodeJS.Timeout;
  #hosts: readonly HostView[] = [];
  #unread: readonly string[] = [];
  readonly #pages = new FunctionPages();
  #asking = false;
  #gotAnswer: () => void = () => undefined;
  /** Resolves with the first answer of a hook. */
  readonly answered = new Promise<void>((resolve) => {
    this.#gotAnswer = resolve;
  });

  constructor(config: Config, servers: readonly string[]) {
    this.#broker = connectBroker({ ...config.nats, servers: [...servers] }, 'live');
    this.#broker.onStatus((status) => {
      if (status.kind === 'connected') void this.#ask();
    });
    this.#timer = setInterval(() => void this.#ask(), POLL_MILLIS);
  }

  /** Platforms of the hooks. */
  get platform(): string {
    const names = new Set(this.#hosts.map((host) => host.platform));
    return [...names].join(', ') || '-';
  }

  /** Errors of hooks with unreadable answers. */
  get unread(): readonly string[] {
    return this.#unread;
  }

  model(): Pick<LiveModel, 'hosts' | 'functions' | 'nats'> {
    const { functions } = this.#pages;
    return {
      hosts: this.#hosts,
      functions: functions.sort(
        (a, b) => b.activations - a.activations || a.name.localeCompare(b.name),
      ),
      nats: this.#broker.connected ? 'connected' : 'away',
    };
  }

  async #ask(): Promise<void> {
    if (this.#asking || !this.#broker.connected) return;
    this.#asking = true;
    try {
      const { hooks, unread } = await inspectHooks(this.#broker, this.#pages.request);
      if (hooks.length + unread.length === 0) return;
      this.#hosts = hooks.map(({ host }) => host);
      this.#unread = unread;
      this.#pages.take(hooks);
      this.#gotAnswer();
    } catch {
      // NATS was lost during the request. The view shows that; the next round asks again.
    } finally {
      this.#asking = false;
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#broker.close();
  }
}
