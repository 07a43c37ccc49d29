import { InvalidArgumentError, Option } from 'commander';
import {
  type Broker,
  type ModeAuthor,
  type ModeChange,
  type ModeOutcome,
  modeErrors,
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
export const modeOutcomeJson = ({ hosts, problems, failed, notStored }: ModeOutcome) => ({
  inForce: hosts,
  problems: Object.fromEntries(problems),
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

/** Reports why a change is not fully in force on every host now and later. @returns false: some */
export function reportModeOutcome(outcome: ModeOutcome): boolean {
  const errors = modeErrors(outcome);
  for (const error of errors) reportError(error, writePlain);
  return errors.length === 0;
}

/** Names and reasons come from hooks. */
const writePlain = (text: string): void =>
  void process.stderr.write(text.split('\n').map(plainText).join('\n'));

/** Where a change is in force, to append to its line; empty: on every host, and stored. */
export function inForceText(outcome: ModeOutcome): string {
  if (modeErrors(outcome).length === 0) return '';
  const where = outcome.hosts.map(plainText).join(', ') || 'no host';
  return ` (in force on ${where})`;
}
