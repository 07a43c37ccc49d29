import { setTimeout as sleep } from 'node:timers/promises';
import { ActionsLockedError, Journal } from '../../openwhisk-plugin/openwhisk-api/index.js';

/** Another process has the journal while it changes actions; it is asked for this many times. */
const LOCKED_WAIT = 500;
const LOCKED_ATTEMPTS = 240;

/**
 * Opens the journal for `act`; waits while another process changes actions, until `signal` is
 * aborted. `onWait`: called once if it has to. Rejects with `GLN_ACTIONS_LOCKED` after 2 minutes.
 */
export async function withJournal<T>(
  path: string,
  signal: AbortSignal | undefined,
  act: (journal: Journal) => Promise<T>,
  onWait: () => void = () => undefined,
): Promise<T> {
  let journal: Journal | null = null;
  for (let attempt = 1; journal === null; attempt++) {
    try {
      journal = await Journal.open(path);
    } catch (error) {
      if (!(error instanceof ActionsLockedError) || attempt >= LOCKED_ATTEMPTS) throw error;
      if (attempt === 1) onWait();
      await sleep(LOCKED_WAIT, undefined, { signal });
    }
  }
  try {
    return await act(journal);
  } finally {
    journal.close();
  }
}
