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
 * Everything that arrives over NATS: targets, modes, the kill switch, policy parameters, service
 * requests. The hook never waits for any of it: without NATS it continues with user limits and
 * local policies.
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
    // Uses the machine's clock: a simulated host's clock runs at another speed.
    this.#service = serve(this.#broker, {
      name: services.hook,
      version,
      description: 'Gleaner on one invoker host: limits, modes, explanations',
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
            'NATS is disconnected: targets become stale, then user limits and local policies apply',
          );
        } else
          logger.error({ code: status.error.code, hint: status.error.hint }, status.error.message);
      }),
    );
  }

  /** Takes an entry of the bucket `gleaner_mode`. An unreadable entry changes nothing. */
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
        'mode refused: the entry is not valid',
      );
      return;
    }
    const { kill, paused, mode, author } = decoded.message;
    if (action === null) this.#hook.kill('kv', kill);
    else this.#hook.pause(action, paused, author);
    this.#hook.setMode(mode, action ?? undefined, author);
  }

  /** Takes an entry of the bucket `gleaner_actions`. An unreadable entry changes nothing. */
  receiveAction(key: string, value: Uint8Array | null): void {
    const action = functionName(key);
    if (action === null) return;
    if (value === null) {
      this.#hook.annotate(action, null);
      return;
    }
    const decoded = decodeActionSettings(value);
    if (!decoded.ok || decoded.message.function !== action) {
      const detail = decoded.ok ? 'it names another function' : decoded.detail;
      this.#log.warn(
        'action_settings',
        this.#hook.clock.monotonic(),
        { key, detail },
        'action settings refused: the entry is not valid',
      );
      return;
    }
    const { unreadable } = decoded.message;
    if (unreadable.length > 0)
      this.#log.warn(
        `annotations ${action}`,
        this.#hook.clock.monotonic(),
        { function: action, annotations: unreadable },
        'annotations cannot be read: user limits apply',
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
