import { join } from 'node:path';
import test from 'ava';
import { Journal } from '../../../openwhisk-plugin/openwhisk-api/index.js';
import { withJournal } from '../../../runtime/wiring/index.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

test('a journal in use is waited for, until the wait is interrupted', async (t) => {
  const path = join(temporaryFolder('journal'), 'actions.jsonl');
  const other = await Journal.open(path);
  const waits: string[] = [];
  const open = (name: string, signal?: AbortSignal): Promise<string> =>
    withJournal(
      path,
      signal,
      async () => name,
      () => waits.push(name),
    );
  const interrupted = new AbortController();
  const one = open('one', interrupted.signal);
  const two = open('two');
  setTimeout(() => interrupted.abort(), 600);
  await t.throwsAsync(one, { name: 'AbortError' });
  other.close();
  t.is(await two, 'two');
  t.deepEqual(waits.sort(), ['one', 'two']);
});
