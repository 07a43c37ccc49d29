import type { ActivationMessage } from './activation-message.js';
import type { ContainerProxy } from './container-proxy.js';

export type ProxyState =
  | 'starting'
  | 'started'
  | 'running'
  | 'ready'
  | 'pausing'
  | 'paused'
  | 'removing'
  | 'removed';

export interface ProxyTimes {
  /**
   * ms without work until the container is paused (container-proxy.timeouts.pause-grace: 50 ms @
   * 1.0.0, 10 s since 2.0.0).
   */
  readonly pauseGraceMs: number;
  /** ms paused until it is removed (container-proxy.timeouts.idle-container: 10 min). */
  readonly idleMs: number;
}

/** What a proxy tells its pool; the names are ContainerProxy's messages. */
export interface ProxyListener {
  needWork(proxy: ContainerProxy): void;
  /**
   * Takes no more work; its memory counts as free from now on, before the engine has removed it (as
   * there). Called once.
   */
  containerLeaving(proxy: ContainerProxy): void;
  reschedule(activationMessage: ActivationMessage): void;
  logsCollected(activationMessage: ActivationMessage, lines: readonly string[]): void;
}
