import { InvalidArgumentError, Option } from 'commander';
import {
  type Broker,
  type ModeAuthor,
  type ModeChange,
  ModeNotStoredError,
  type ModeOutcome,
  storeLater,
  switchMode,
} from '../broker/index.js';
import { reportError, reportProblem } from '../config/index.js';
import { plainText } from '../runtime/index.js';

const RETRY_SECONDS = 10;
const RETRY_EVERY_MILLIS = 1000;

/** `--store-for`: for commands that store a mode. */
export const storeForOption = (): Option =>
  new Option(
    '--store-for <seconds>',
    'if JetStream refuses to store the change, how long to keep trying',
  )
    .default(RETRY_SECONDS)
    .argParser((text: string) => {
      const value = Number(text);
      if (text.trim() === '' || !(value >= 0))
        throw new InvalidArgumentError('must be a number of seconds, 0 or more');
      return value;
    });

/** Fields of `--output json` for a change of mode. */
export const modeOutcomeJson = ({ hosts, failed, notStored }: ModeOutcome) => ({
  inForce: hosts,
  failed: Object.fromEntries(failed),
  stored: notStored === null,
  notStored: notStored && {
    code: notStored.code,
    message: notStored.message,
    hint: notStored.hint,
  },
});

/**
 * Changes a mode, a pause or the kill switch on every host. If JetStream refuses to store it, this
 * is reported at once, and storing is retried for `storeForSeconds`.
 */
export async function changeEverywhere(
  broker: Broker,
  fn: string | null,
  change: ModeChange,
  who: ModeAuthor,
  storeForSeconds: number,
): Promise<ModeOutcome> {
  const outcome = await switchMode(broker, fn, change, who);
  const { notStored: first, hosts } = outcome;
  if (first === null) return outcome;
  if (storeForSeconds > 0)
    reportProblem(
      `in force on ${hosts.map(plainText).join(', ')} and not stored yet: ${first.message}`,
      `retrying for ${storeForSeconds} s; after Ctrl-C it is in force until these hooks restart`,
    );
  const during = storeForSeconds * 1000;
  const notStored = await storeLater(broker, fn, change, who, {
    first,
    during,
    every: RETRY_EVERY_MILLIS,
  });
  return { ...outcome, notStored };
}

/** Reports hosts without the change, and a change that is not stored. @returns true if neither */
export function reportModeOutcome({ hosts, failed, notStored }: ModeOutcome): boolean {
  for (const [host, why] of failed)
    reportProblem(
      `not in force on ${plainText(host)}: ${plainText(why)}`,
      'check the host with `gleaner status`, and run the command again',
    );
  if (notStored !== null) reportError(new ModeNotStoredError(hosts.length, notStored));
  return failed.size === 0 && notStored === null;
}
