import { type ActivationMessage, initBody, type ResolvedAction, runBody } from './action.js';
import type { Container } from './action-container.js';
import {
  type ActivationResponse,
  initOutcome,
  response,
  runOutcome,
} from './activation-response.js';
import { ContainerHealthError } from './errors.js';

export type ProxyState =
  | 'starting'
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
}

/** Times of an activation that never reached a container. */
const NO_TIME = { initMs: 0, runMs: 0, startedMs: null };

/**
 * The life of one container: starting, running, ready, pausing, paused,
 * removing. Source: ContainerProxy.scala @ 1.0.0, 2.0.0, 1fae641a2 (the same states; `when(...)`
 * blocks and initializeAndRun).
 */
export class ContainerProxy {
  /** The action that it is made for; it serves no other. */
  readonly action: ResolvedAction;
  state: ProxyState = 'starting';
  container: Container | null = null;
  initialized = false;
  readonly #factory: () => Promise<Container>;
  readonly #listener: ProxyListener;
  readonly #times: ProxyTimes;
  #active = 0;
  #buffer: ActivationMessage[] = [];
  #timer: NodeJS.Timeout | undefined;
  #markedForRemoval = false;
  /** Activations that arrived while it was being paused, and others that wait for the pause. */
  readonly #stash: ActivationMessage[] = [];
  readonly #afterPause: (() => void)[] = [];
  #left = false;
  #createdMs = 0;
  /** Settles when the engine has started it, or not. */
  #creating: Promise<unknown> = Promise.resolve();
  #removal: Promise<void> | null = null;

  constructor(
    action: ResolvedAction,
    factory: () => Promise<Container>,
    listener: ProxyListener,
    times: ProxyTimes,
  ) {
    this.action = action;
    this.#factory = factory;
    this.#listener = listener;
    this.#times = times;
  }

  /** Its activations, running or waiting inside. */
  get load(): number {
    return this.#active + this.#buffer.length + this.#stash.length;
  }

  /** Takes an activation in any state; one that cannot be served here goes back to the pool. */
  run(activationMessage: ActivationMessage): void {
    switch (this.state) {
      case 'starting':
        this.state = 'running';
        this.#active = 1;
        void this.#coldStart(activationMessage);
        return;
      case 'running':
        if (!this.initialized || this.#active >= activationMessage.action.concurrency)
          this.#buffer.push(activationMessage);
        else this.#warm(activationMessage, false);
        return;
      case 'ready':
        clearTimeout(this.#timer);
        this.state = 'running';
        this.#warm(activationMessage, true);
        return;
      case 'paused':
        clearTimeout(this.#timer);
        this.state = 'running';
        void this.#resumeAndRun(activationMessage);
        return;
      case 'pausing':
        this.#stash.push(activationMessage);
        return;
      case 'removing':
      case 'removed':
        this.#listener.reschedule(activationMessage);
        return;
    }
  }

  /** Called by the pool (memory is needed) or at the end. Waits for a pause that is under way. */
  remove(): Promise<void> {
    if (this.state === 'pausing')
      return new Promise((resolve) => this.#afterPause.push(() => resolve(this.remove())));
    return this.#destroy();
  }

  async #coldStart(activationMessage: ActivationMessage): Promise<void> {
    try {
      await this.#create();
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      const failure = response('whisk error', `the container could not be started: ${text}`);
      this.#answer(activationMessage, failure, { ...NO_TIME, cold: true });
      this.#active--;
      this.#abortBuffered(failure);
      this.state = 'removed';
      this.#leave();
      return;
    }
    if (this.state === 'running') await this.#first(activationMessage);
    else
      this.#answer(activationMessage, response('whisk error', 'the invoker has stopped'), {
        ...NO_TIME,
        cold: true,
      });
  }

  async #create(): Promise<void> {
    this.#createdMs = performance.now();
    const creating = this.#factory();
    this.#creating = creating.catch(() => undefined);
    this.container = await creating;
  }

  /** `/init`, then the first `/run`. A failure of either ends the container. */
  async #first(activationMessage: ActivationMessage): Promise<void> {
    const container = this.container as Container;
    const { action } = activationMessage;
    const sinceMs = Date.now();
    const init = await container.call(
      '/init',
      initBody(action, activationMessage, Date.now() + action.timeoutMs),
      {
        timeoutMs: action.timeoutMs,
        retry: true,
        reschedule: false,
      },
    );
    if (init.answer.kind === 'response' && init.answer.status === 503)
      return this.#unhealthy(activationMessage);
    const ok =
      init.answer.kind === 'response' &&
      init.answer.status === 200 &&
      init.answer.truncatedFrom === null;
    if (!ok) {
      const failure = initOutcome(init.answer, init.durationMs, action.timeoutMs);
      this.#answer(activationMessage, failure, {
        initMs: init.durationMs,
        runMs: 0,
        startedMs: init.startedMs,
        cold: true,
      });
      await this.#logs(sinceMs, false);
      this.#active--;
      this.#abortBuffered(failure);
      await this.#destroy();
      return;
    }
    this.initialized = true;
    const run = this.#execute(
      activationMessage,
      { initMs: init.durationMs, startedMs: init.startedMs, cold: true, sinceMs },
      false,
    );
    // Activations buffered during the warm-up may run beside the first one from here on.
    this.#drain();
    await run;
  }

  #warm(activationMessage: ActivationMessage, reschedule: boolean): void {
    this.#active++;
    this.#again(activationMessage, reschedule);
  }

  #again(activationMessage: ActivationMessage, reschedule: boolean): void {
    void this.#execute(
      activationMessage,
      { initMs: 0, startedMs: null, cold: false, sinceMs: Date.now() },
      reschedule,
    );
  }

  async #resumeAndRun(activationMessage: ActivationMessage): Promise<void> {
    this.#active++;
    try {
      await (this.container as Container).resume();
    } catch {
      return this.#unhealthy(activationMessage);
    }
    this.#again(activationMessage, true);
  }

  async #execute(
    activationMessage: ActivationMessage,
    begin: { initMs: number; startedMs: number | null; cold: boolean; sinceMs: number },
    reschedule: boolean,
  ): Promise<void> {
    const { action } = activationMessage;
    const container = this.container as Container;
    let result: ActivationResponse;
    try {
      const body = runBody(
        action,
        activationMessage,
        Date.now() + action.timeoutMs,
        activationMessage.payload,
      );
      const run = await container.call('/run', body, {
        timeoutMs: action.timeoutMs,
        retry: false,
        reschedule,
      });
      if (run.answer.kind === 'response' && run.answer.status === 503)
        throw new ContainerHealthError(container.name);
      result = runOutcome(run.answer, run.durationMs, action.timeoutMs);
      this.#answer(activationMessage, result, {
        initMs: begin.initMs,
        runMs: run.durationMs,
        startedMs: begin.startedMs ?? run.startedMs,
        cold: begin.cold,
      });
    } catch (error) {
      if (error instanceof ContainerHealthError) return this.#unhealthy(activationMessage);
      result = response('whisk error', error instanceof Error ? error.message : String(error));
      this.#answer(activationMessage, result, {
        ...NO_TIME,
        initMs: begin.initMs,
        cold: begin.cold,
      });
    }
    const good = result.kind === 'success' || result.kind === 'application error';
    const collected = await this.#logs(begin.sinceMs, good);
    this.#active--;
    // A container that is being removed never becomes ready, whatever the result of its activation
    // is.
    if (good && collected && !this.#markedForRemoval && this.#removal === null) this.#completed();
    else await this.#failed();
  }

  /** RunCompleted: more of the buffer, more work from the pool, or ready. */
  #completed(): void {
    if (this.#buffer.length > 0) {
      this.#drain();
      if (this.#active < this.action.concurrency) this.#listener.needWork(this);
      return;
    }
    if (this.#active === 0) this.#becomeReady();
    this.#listener.needWork(this);
  }

  #becomeReady(): void {
    this.state = 'ready';
    this.#timer = setTimeout(() => void this.#pause(), this.#times.pauseGraceMs);
  }

  async #pause(): Promise<void> {
    this.state = 'pausing';
    let failed = false;
    try {
      await (this.container as Container).suspend();
    } catch {
      failed = true;
    }
    if (failed) {
      this.state = 'ready';
      void this.#destroy();
    } else {
      this.state = 'paused';
      this.#timer = setTimeout(() => void this.#destroy(), this.#times.idleMs);
    }
    for (const activationMessage of this.#stash.splice(0)) this.run(activationMessage);
    for (const callback of this.#afterPause.splice(0)) callback();
  }

  #drain(): void {
    while (this.#buffer.length > 0 && this.#active < this.action.concurrency) {
      this.#warm(this.#buffer.shift() as ActivationMessage, false);
    }
  }

  /** A failed run ends the container once every other run in it has ended. */
  async #failed(): Promise<void> {
    if (this.#active > 0) {
      this.#markedForRemoval = true;
      if (this.state !== 'removing') {
        this.state = 'removing';
        this.#leave();
        for (const activationMessage of this.#buffer.splice(0))
          this.#listener.reschedule(activationMessage);
      }
      return;
    }
    await this.#destroy();
  }

  /** The activation was not taken: it goes back, and the container is removed. */
  async #unhealthy(activationMessage: ActivationMessage): Promise<void> {
    this.#active--;
    this.state = 'removing';
    this.#leave();
    this.#listener.reschedule(activationMessage);
    for (const other of this.#buffer.splice(0)) this.#listener.reschedule(other);
    await this.#destroy();
  }

  #abortBuffered(failure: ActivationResponse): void {
    for (const activationMessage of this.#buffer.splice(0)) {
      this.#answer(activationMessage, failure, { ...NO_TIME, cold: false });
    }
  }

  #destroy(): Promise<void> {
    this.#removal ??= this.#unpauseAndRemove();
    return this.#removal;
  }

  async #unpauseAndRemove(): Promise<void> {
    clearTimeout(this.#timer);
    const paused = this.state === 'paused';
    this.state = 'removing';
    this.#leave();
    for (const activationMessage of this.#buffer.splice(0))
      this.#listener.reschedule(activationMessage);
    await this.#creating;
    try {
      if (paused) await this.container?.resume();
      await this.container?.destroy();
    } catch {
      // As in DockerContainerFactory, a failed removal is ignored: the next start-up's clean-up
      // removes the container.
    }
    this.state = 'removed';
  }

  #leave(): void {
    if (this.#left) return;
    this.#left = true;
    this.#listener.containerLeaving(this);
  }

  async #logs(sinceMs: number, wait: boolean): Promise<boolean> {
    try {
      await (this.container as Container).collectLogs(sinceMs, Date.now(), wait);
      return true;
    } catch {
      return false;
    }
  }

  #answer(
    activationMessage: ActivationMessage,
    result: ActivationResponse,
    times: { initMs: number; runMs: number; startedMs: number | null; cold: boolean },
  ): void {
    activationMessage.finish({
      ...result,
      waitMs: Math.max(0, (times.startedMs ?? performance.now()) - activationMessage.acceptedMs),
      initMs: times.initMs,
      runMs: times.runMs,
      containerName: this.container?.name ?? null,
      cold: times.cold,
      coldStartMs:
        times.cold && times.startedMs !== null
          ? times.startedMs + times.initMs - this.#createdMs
          : null,
    });
  }
}
