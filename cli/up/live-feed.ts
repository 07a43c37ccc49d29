import type { Broker } from '../../broker/index.js';
import type { HostView } from '../../broker/services/index.js';
import type { Config } from '../../config/index.js';
import { connectBroker, inspectHooks } from '../../runtime/index.js';
import type { LiveModel } from '../live-view.js';
import { FunctionPages } from './function-pages.js';

const POLL_MILLIS = 1000;
/** A round in which a hook does not answer takes up to 3 s. */
const SILENT_MILLIS = 5000;
/** A hook that is silent for this long while others answer has been removed. */
const FORGET_MILLIS = 600_000;

/** Polls the hooks over NATS, one request at a time, and keeps their newest answers. */
export class LiveFeed {
  readonly #broker: Broker;
  readonly #timer: NodeJS.Timeout;
  /** With the monotonic time of their last answers. */
  readonly #hosts = new Map<string, { readonly view: HostView; readonly at: number }>();
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
    const names = new Set([...this.#hosts.values()].map(({ view }) => view.platform));
    return [...names].join(', ') || '-';
  }

  /** Errors of hooks with unreadable answers. */
  get unread(): readonly string[] {
    return this.#unread;
  }

  model(): Pick<LiveModel, 'hosts' | 'silentSeconds' | 'functions' | 'nats'> {
    const { functions } = this.#pages;
    const hosts = [...this.#hosts.values()];
    const now = performance.now();
    const silent = hosts.filter(({ at }) => now - at > SILENT_MILLIS);
    return {
      hosts: hosts.map(({ view }) => view),
      silentSeconds: Object.fromEntries(
        silent.map(({ view, at }) => [view.host, Math.round((now - at) / 1000)]),
      ),
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
      const at = performance.now();
      for (const [name, host] of this.#hosts)
        if (at - host.at > FORGET_MILLIS) this.#hosts.delete(name);
      for (const { host: view } of hooks) this.#hosts.set(view.host, { view, at });
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
