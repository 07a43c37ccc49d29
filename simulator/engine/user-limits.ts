import type { Bytes, Millicores } from '../../config/index.js';
import { NO_LIMIT, type UserLimits } from '../../openwhisk-plugin/decision/index.js';
import { PERIOD_MICROS } from './cfs.js';
import { Fn, type FunctionRows } from './function-rows.js';

/**
 * User limits of a function's containers, as inspect output would show them: one object for equal
 * limits.
 */
export class UserLimitTable {
  readonly #functions: FunctionRows;
  readonly #known: (UserLimits | undefined)[] = [];

  constructor(functions: FunctionRows) {
    this.#functions = functions;
  }

  /** Limits of a container that is created now. */
  of(fn: number): UserLimits {
    const functions = this.#functions;
    const shares = functions.get(fn, Fn.weight);
    const quota = (functions.get(fn, Fn.quota) * 1000) / PERIOD_MICROS;
    const memory = functions.get(fn, Fn.limit) as Bytes;
    const known = this.#known[fn];
    if (
      known !== undefined &&
      known.memory === memory &&
      known.shares === shares &&
      known.quota === quota
    )
      return known;
    const user: UserLimits = {
      shares,
      quota: (quota > 0 ? quota : NO_LIMIT) as Millicores,
      memory,
      memoryAndSwap: memory,
      periodMicros: PERIOD_MICROS,
    };
    this.#known[fn] = user;
    return user;
  }
}
