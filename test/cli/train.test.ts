import { existsSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { gleaner } from '../support/gleaner.js';
import { temporaryFolder } from '../support/temporary-folder.js';

test('the policy of --begin-with is loaded, and a missing one is an error', async (t) => {
  const folder = temporaryFolder('train');
  const missing = join(folder, 'no-policy');
  const { code, err } = await gleaner([
    ...['train', '--begin-with', missing, '--out', join(folder, 'out'), '--episodes', '1'],
  ]);
  t.not(code, 0);
  t.true(err.includes(missing), err);
  t.false(existsSync(join(folder, 'out', 'model.json')));
});
