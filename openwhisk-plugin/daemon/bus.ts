import {
  type Broker,
  buckets,
  functionName,
  logConnection,
  logStores,
  services,
  wildcards,
} from '../../broker/index.js';
import {
  decodeActionSettings,
  decodeMode,
  decodePolicyParameters,
  functionOfModeKey,
  MODE_GLOBAL,
  type ModeValue,
} from '../../broker/messages/index.js';
import { announce, serve } from '../../broker/services/index.js';
import { type Cancel, messageOf, systemTimers } from '../../config/index.js';
import type { Hook } from './hook.js';
import type { RememberedModes } from './remembered-modes.js';
import { hookEndpoints } from './service.js';
import type { TargetReceiver } from './targets.js';

/** In one log line. */
export const NAMED_KEYS = 20;

/**
 * Everything that arrives over NATS. The hook never waits for any of it: without NATS it continues
 * with the modes that it last read, user limits and local policies. A mode that cannot be read
 * counts as a kill switch or a pause; any other entry that cannot be read changes nothing.
 */
export class HookBus {
  readonly #hook: Hook;
  readonly #broker: Broker;
  readonly #remembered: RememberedModes;
  readonly #cancels: Cancel[] = [];

  constructor(hook: Hook, broker: Broker, remembered: RememberedModes) {
    this.#hook = hook;
    this.#broker = broker;
    this.#remembered = remembered;
  }

  /** `failure`: the fault that ends this process; null: it ends in order. */
  start(version: string, targets: TargetReceiver, failure?: () => string | null): void {
    const { host, boot, platform } = this.#hook.identity;
    const subscription = this.#broker.subscribe(wildcards.targets, (message) => {
      const action = functionName(message.subject.slice(message.subject.lastIndexOf('.') + 1));
      if (action !== null) targets.receive(action, message.data);
    });
    this.#cancels.push(() => subscription.unsubscribe());
    this.#watchModes();
    this.#watch(buckets.actions, (key, value) => this.#receiveAction(key, value));
    this.#watch(buckets.policy, (key, value) => this.#receivePolicy(key, value));
    // Uses the machine's clock: a simulated host's clock runs at another speed.
    const service = serve(this.#broker, {
      name: services.hook,
      version,
      description: 'Gleaner on one invoker host: limits, modes, explanations',
      host,
      metadata: { boot, platform },
      endpoints: hookEndpoints(this.#hook),
    });
    const { logger } = this.#hook.controls.parts;
    const { id } = service;
    this.#cancels.push(
      announce(this.#broker, systemTimers, { service: services.hook, host, id }, failure),
      () => service.stop(),
      logStores(this.#broker.stores, logger),
      logConnection(
        this.#broker,
        logger,
        'targets become stale, then user limits and local policies apply',
      ),
    );
  }

  /** Resolves when the modes that were read last are on the disk. */
  stop(): Promise<void> {
    for (const cancel of this.#cancels.splice(0)) cancel();
    return this.#remembered.stop();
  }

  /** The modes of the last run apply until the bucket has been read once. */
  #watchModes(): void {
    const remembered = this.#remembered.entries();
    const unread = new Set(remembered.map(([key]) => key));
    if (unread.size > 0)
      this.#hook.controls.parts.logger.info(
        { keys: [...unread].slice(0, NAMED_KEYS), count: unread.size },
        'the stored modes of the last run apply until NATS delivers the present ones',
      );
    for (const [key, value] of remembered) this.#receiveMode(key, value, true);
    const ready = this.#watch(buckets.mode, (key, value) => {
      unread.delete(key);
      this.#receiveMode(key, value);
    });
    ready
      .then(() => {
        for (const key of unread) this.#receiveMode(key, null);
        unread.clear();
      })
      .catch((error: unknown) => {
        const message = 'cannot read the stored modes: those of the last run may still apply';
        this.#warn('stored_modes', { error: messageOf(error) }, message);
      });
  }

  #watch(
    bucket: (typeof buckets)[keyof typeof buckets],
    receive: (key: string, value: Uint8Array | null) => void,
  ): Promise<void> {
    const watch = this.#broker.keyValue(bucket).watch(({ key, value }) => receive(key, value));
    this.#cancels.push(() => watch.stop());
    // The hook does not wait for the bucket, which may be missing.
    return watch.ready;
  }

  #receiveMode(key: string, value: Uint8Array | null, isRemembered = false): void {
    const action = functionOfModeKey(key);
    if (key !== MODE_GLOBAL && action === null) return;
    const { killSwitch, modes } = this.#hook.controls;
    if (value === null) {
      modes.setUnreadable(key, false);
      this.#undo(action, this.#remembered.get(key));
      this.#remembered.set(key, undefined);
      return;
    }
    const decoded = decodeMode(value);
    modes.setUnreadable(key, !decoded.ok);
    this.#remembered.set(key, decoded.ok ? decoded.message : null);
    if (!decoded.ok) {
      const fields = { key, detail: decoded.detail };
      const message = 'a stored mode cannot be read: user limits apply';
      this.#warn(`mode_${decoded.kind}`, fields, message);
      if (action === null) killSwitch.set('kv_unreadable', true);
      else {
        const reason = `its value cannot be read: ${decoded.detail}`;
        this.#hook.pause(action, true, { author: 'kv', reason });
      }
      return;
    }
    const { kill, paused, mode, author, reason } = decoded.message;
    const by = { author, reason };
    if (action === null) {
      killSwitch.set('kv', kill, by);
      killSwitch.set('kv_unreadable', false, by);
    } else this.#hook.pause(action, paused, by);
    this.#hook.setMode(mode, action, by, isRemembered);
  }

  /** Only what a deleted value had set: a pause or mode that could not be stored stays. */
  #undo(action: string | null, deleted: ModeValue | null | undefined): void {
    if (deleted === undefined) return;
    const by = { author: 'kv', reason: '' };
    if (action === null) {
      const { killSwitch } = this.#hook.controls;
      killSwitch.set('kv', false, by);
      killSwitch.set('kv_unreadable', false, by);
    } else if (deleted === null || deleted.paused) this.#hook.pause(action, false, by);
    if (deleted === null || deleted.mode) this.#hook.setMode(undefined, action, by);
  }

  #receiveAction(key: string, value: Uint8Array | null): void {
    const action = functionName(key);
    if (action === null) return;
    if (value === null) {
      this.#hook.annotate(action, null);
      return;
    }
    const decoded = decodeActionSettings(value);
    if (!decoded.ok || decoded.message.function !== action) {
      const detail = decoded.ok ? 'it names another function' : decoded.detail;
      const message = 'action settings refused: the entry is not valid';
      this.#warn('action_settings', { key, detail }, message);
      return;
    }
    const { unreadable } = decoded.message;
    if (unreadable.length > 0)
      this.#warn(
        'annotations',
        { function: action, annotations: unreadable },
        'annotations cannot be read: user limits apply',
      );
    this.#hook.annotate(action, decoded.message);
  }

  /** Parameters of a deleted entry stay until the next entry or a restart. */
  #receivePolicy(key: string, value: Uint8Array | null): void {
    if (value === null) return;
    const refused = 'policy parameters refused: the old ones stand';
    const decoded = decodePolicyParameters(value);
    try {
      if (decoded.ok) this.#hook.acceptParameters(decoded.message);
      else this.#warn(`policy_${decoded.kind}`, { key, detail: decoded.detail }, refused);
    } catch (error) {
      this.#warn('policy_refused', { key, error: String(error) }, refused);
    }
  }

  #warn(kind: string, fields: object, message: string): void {
    const { log, clock } = this.#hook.controls.parts;
    log.warn(kind, clock.monotonic(), fields, message);
  }
}
