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

/** A change of mode as an answer for programs has it. */
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
 * Changes a mode, a pause or the kill switch everywhere; if it cannot be stored, says at once that
 * it is in force, and tries for a while.
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
      `trying to store it for ${storeForSeconds} s; Ctrl-C leaves it in force until these hooks restart`,
    );
  const during = storeForSeconds * 1000;
  const notStored = await storeLater(broker, fn, change, who, {
    first,
    during,
    every: RETRY_EVERY_MILLIS,
  });
  return { ...outcome, notStored };
}

/**
 * Says on stderr on which hosts a change is not in force, and that it is not stored. @returns
 * whether all is well
 */
export function reportModeOutcome({ hosts, failed, notStored }: ModeOutcome): boolean {
  for (const [host, why] of failed)
    reportProblem(
      `not in force on ${plainText(host)}: ${plainText(why)}`,
      'see `gleaner status`, and run the command again',
    );
  if (notStored !== null)
    reportError(new ModeNotStoredError(hosts.length, notStored), (text) =>
      process.stderr.write(text),
    );
  return failed.size === 0 && notStored === null;
}
