import {
  type Broker,
  buckets,
  functionName,
  type KeyValueWatch,
  logStores,
  type RateLimitedLog,
  type Subscription,
  services,
  wildcards,
} from '../../broker/index.js';
import { decodeActionSettings, decodeMode, MODE_GLOBAL } from '../../broker/messages/index.js';
import { type RunningService, serve } from '../../broker/services/index.js';
import type { Cancel } from '../../config/index.js';
import type { Hook } from './hook.js';
import { PolicyParameterWatch } from './policy-parameters.js';
import { hookEndpoints } from './service.js';
import type { TargetReceiver } from './targets.js';

const FUNCTION_KEY = 'function.';

/**
 * Everything that comes over NATS: targets, modes and the kill switch, policy parameters, the
 * service. Nothing here is waited for: with NATS away the hook goes on at user limits and local
 * policies, and hears the rest when it is back.
 */
export class HookBus {
  readonly #hook: Hook;
  readonly #broker: Broker;
  readonly #targets: TargetReceiver;
  readonly #log: RateLimitedLog;
  readonly #policies: PolicyParameterWatch;
  readonly #subscriptions: Subscription[] = [];
  #modes: KeyValueWatch | null = null;
  #actions: KeyValueWatch | null = null;
  #service: RunningService | null = null;
  readonly #cancels: Cancel[] = [];

  constructor(hook: Hook, broker: Broker, targets: TargetReceiver, log: RateLimitedLog) {
    this.#hook = hook;
    this.#broker = broker;
    this.#targets = targets;
    this.#log = log;
    this.#policies = new PolicyParameterWatch(
      (parameters) => hook.acceptParameters(parameters),
      hook.clock,
      log,
    );
  }

  start(version: string): void {
    const { host, boot, platform } = this.#hook.hostView();
    this.#subscriptions.push(
      this.#broker.subscribe(wildcards.targets, (message) => {
        const action = functionName(message.subject.slice(message.subject.lastIndexOf('.') + 1));
        if (action !== null) this.#targets.receive(action, message.data);
      }),
    );
    this.#modes = this.#broker
      .keyValue(buckets.mode)
      .watch((entry) => this.receiveMode(entry.key, entry.value));
    this.#modes.ready.catch(() => undefined);
    this.#actions = this.#broker
      .keyValue(buckets.actions)
      .watch((entry) => this.receiveAction(entry.key, entry.value));
    this.#actions.ready.catch(() => undefined);
    this.#policies.start(this.#broker);
    // By the machine's clock: a simulated host's runs at another speed, and an answer's true time
    // is what counts here.
    this.#service = serve(this.#broker, {
      name: services.hook,
      version,
      description: 'Gleaner beside one invoker: limits, modes, explanations',
      host,
      metadata: { boot, platform },
      endpoints: hookEndpoints(this.#hook),
    });
    const { logger } = this.#hook;
    this.#cancels.push(
      logStores(this.#broker.stores, logger),
      this.#broker.onStatus((status) => {
        if (status.kind === 'connected')
          logger.info({ server: status.server }, 'connected to NATS');
        else if (status.kind === 'disconnected') {
          logger.warn(
            {},
            'NATS is away: targets go stale, then user limits and local policies stand',
          );
        } else
          logger.error({ code: status.error.code, hint: status.error.hint }, status.error.message);
      }),
    );
  }

  /** A key of the bucket `gleaner_mode`. What cannot be read changes nothing. */
  receiveMode(key: string, value: Uint8Array | null): void {
    const action = key.startsWith(FUNCTION_KEY)
      ? functionName(key.slice(FUNCTION_KEY.length))
      : null;
    if (key !== MODE_GLOBAL && action === null) return;
    if (value === null) {
      if (action === null) this.#hook.kill('kv', false);
      else this.#hook.pause(action, false, 'kv');
      this.#hook.setMode(undefined, action ?? undefined, 'kv');
      return;
    }
    const decoded = decodeMode(value);
    if (!decoded.ok) {
      this.#log.warn(
        `mode_${decoded.kind}`,
        this.#hook.clock.monotonic(),
        { key, detail: decoded.detail },
        'a mode was refused',
      );
      return;
    }
    const { kill, paused, mode, author } = decoded.message;
    if (action === null) this.#hook.kill('kv', kill);
    else this.#hook.pause(action, paused, author);
    this.#hook.setMode(mode, action ?? undefined, author);
  }

  /** A key of the bucket `gleaner_actions`. What cannot be read changes nothing. */
  receiveAction(key: string, value: Uint8Array | null): void {
    const action = functionName(key);
    if (action === null) return;
    if (value === null) {
      this.#hook.annotate(action, null);
      return;
    }
    const decoded = decodeActionSettings(value);
    if (!decoded.ok || decoded.message.function !== action) {
      const detail = decoded.ok ? 'it tells of another function' : decoded.detail;
      this.#log.warn(
        'action_settings',
        this.#hook.clock.monotonic(),
        { key, detail },
        'settings of an action were refused',
      );
      return;
    }
    const { unreadable } = decoded.message;
    if (unreadable.length > 0)
      this.#log.warn(
        `annotations ${action}`,
        this.#hook.clock.monotonic(),
        { function: action, annotations: unreadable },
        'annotations that cannot be read: user limits stand',
      );
    this.#hook.annotate(action, decoded.message);
  }

  stop(): void {
    for (const subscription of this.#subscriptions.splice(0)) subscription.unsubscribe();
    this.#modes?.stop();
    this.#actions?.stop();
    this.#policies.stop();
    this.#service?.stop();
    for (const cancel of this.#cancels.splice(0)) cancel();
  }
}
