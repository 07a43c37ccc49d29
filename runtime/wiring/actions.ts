import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Config,
  errorClass,
  isExcluded,
  type Millis,
  messageOf,
  overrideFor,
  systemClock,
} from '../../config/index.js';
import {
  ActionWriter,
  OpenWhiskRest,
  readKeys,
} from '../../openwhisk-plugin/openwhisk-api/index.js';

const ATTEMPTS = 5;
/** A controller that has not answered by then is treated as unreachable. */
const ANSWER_TIMEOUT = 10_000 as Millis;
const BACK_OFF = 1000 as Millis;

class OpenWhiskUnknownError extends errorClass('GLN_OPENWHISK_UNKNOWN') {}

export interface ConnectActionsOptions {
  readonly waiting?: (why: string, wait: Millis) => void;
  /** Waits for an API that cannot be reached; otherwise that is told at once (default). */
  readonly waitForHost?: boolean;
  /** Ends what waits: rejects with an AbortError. */
  readonly signal?: AbortSignal;
}

const reportRetry = (why: string, wait: Millis): void =>
  void process.stderr.write(`gleaner: ${why}; asked again in ${wait / 1000} s\n`);

export function connectActions(
  { openwhisk, functions, mode }: Config,
  { waiting = reportRetry, waitForHost = false, signal }: ConnectActionsOptions = {},
): Promise<ActionWriter> {
  const { apiHost, keysFile, caFile, changesPerMinute, holdS } = openwhisk;
  if (apiHost === null || keysFile === null)
    throw new OpenWhiskUnknownError('it is not configured');
  let ca: string | null = null;
  try {
    ca = caFile === null ? null : readFileSync(caFile, 'utf8');
  } catch (error) {
    throw new OpenWhiskUnknownError(messageOf(error));
  }
  const clients = readKeys(keysFile).map(
    (key) =>
      new OpenWhiskRest({
        apiHost: apiHost.replace(/\/$/, ''),
        key,
        timeout: ANSWER_TIMEOUT,
        ca,
      }),
  );
  const settings = {
    changesPerMinute,
    holdMs: holdS * 1000,
    attempts: ATTEMPTS,
    backOff: BACK_OFF,
    waiting,
    waitForHost,
    allowanceOf: (fn: string) => {
      const own = overrideFor(functions.overrides, fn);
      return {
        mode: isExcluded(functions.exclude, fn) ? ('observe' as const) : (own.mode ?? mode),
        memoryMiB: own.bounds?.memoryMiB,
      };
    },
  };
  return ActionWriter.connect(
    clients,
    settings,
    systemClock,
    async (span) =>
      void (await sleep(span, undefined, { ...(signal === undefined ? {} : { signal }) })),
  );
}
