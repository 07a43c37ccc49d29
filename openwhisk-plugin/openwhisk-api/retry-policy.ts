import { type Millis, messageOf } from '../../config/index.js';
import type { OpenWhiskRest } from './rest.js';
import {
  ActionConflictError,
  OpenWhiskResponseError,
  OpenWhiskUnavailableError,
} from './rest-errors.js';
import { type LimitValues, type RestAction, writableLimits } from './rest-schemas.js';

export interface RetrySettings {
  /** Attempts of one request while OpenWhisk is down, and the wait after the first; it doubles. */
  readonly attempts: number;
  readonly backOff: Millis;
  /** Told before each wait: a person should not wonder. */
  readonly waiting?: (why: string, wait: Millis) => void;
}

/** How often, and after which wait, requests are retried while OpenWhisk is down. */
export class RetryPolicy {
  readonly #attempts: number;
  readonly #first: Millis;
  readonly #pause: (span: Millis) => Promise<void>;
  readonly #waiting: (why: string, wait: Millis) => void;

  constructor(
    { attempts, backOff, waiting }: RetrySettings,
    pause: (span: Millis) => Promise<void>,
  ) {
    this.#attempts = attempts;
    this.#first = backOff;
    this.#pause = pause;
    this.#waiting = waiting ?? (() => {});
  }

  /**
   * One PUT, retried only if that is safe. After an unknown result the action is read first: the
   * change may be there already, and a second PUT would make a second version. Rejects with
   * `uncertain` set if the change may have been made. `isHeld`: called before each further PUT.
   */
  async write(
    rest: OpenWhiskRest,
    path: string,
    before: RestAction,
    to: LimitValues,
    isHeld: () => Promise<boolean> = async () => false,
  ): Promise<RestAction> {
    let unknown = false;
    let last: unknown;
    const fail = (error: unknown): never => {
      throw unknown
        ? new OpenWhiskUnavailableError(
            `change ${path}`,
            `whether it did is not known; ${messageOf(error)}`,
            true,
          )
        : error;
    };
    for (let attempt = 1; ; attempt++) {
      if (attempt > 1 && (await isHeld())) return fail(last);
      try {
        const after = await rest.setLimits(path, to);
        if (after !== null) return after;
        unknown = true;
        last = new OpenWhiskResponseError(`change ${path}`, 'nothing changes');
      } catch (error) {
        if (!(error instanceof OpenWhiskUnavailableError)) return fail(error);
        last = error;
        unknown ||= error.uncertain;
        if (attempt >= this.#attempts) return fail(error);
        await this.#wait(error, attempt);
      }
      if (!unknown) continue;
      const now = await this.execute(() => rest.action(path)).catch(fail);
      const there = writableLimits.every(
        (limit) => to[limit] === undefined || now.limits[limit] === to[limit],
      );
      if (now.version !== before.version && there) return now;
      if (now.version !== before.version) fail(new ActionConflictError(`change ${path}`));
      if (attempt >= this.#attempts) fail(last);
    }
  }

  /** `waitForHost` false: if there is no connection at all, it rejects at once. */
  async execute<T>(send: () => Promise<T>, waitForHost = true): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await send();
      } catch (error) {
        if (!(error instanceof OpenWhiskUnavailableError) || attempt >= this.#attempts) throw error;
        if (error.unreachable && !waitForHost) throw error;
        await this.#wait(error, attempt);
      }
    }
  }

  async #wait(error: OpenWhiskUnavailableError, attempt: number): Promise<void> {
    const wait = (this.#first * 2 ** (attempt - 1)) as Millis;
    this.#waiting(messageOf(error), wait);
    await this.#pause(wait);
  }
}
