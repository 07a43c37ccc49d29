import { appendFileSync, existsSync, readFileSync } from 'node:fs';
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

test('a list of modes is refused: each needs its own training', async (t) => {
  const out = join(temporaryFolder('train-modes'), 'out');
  for (const option of ['--mode', '--modes']) {
    const { code, err } = await gleaner(['train', option, 'weight,quota', '--out', out]);
    t.is(code, 2);
    t.regex(err, /must be one of weight, quota, freyr-2021/);
  }
  t.false(existsSync(out));
});
