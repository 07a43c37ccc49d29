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

/** The smallest training with checkpoints: FaaSRM's network under the published rules. */
const SMALL = ['train', '--manager', 'faasrm', '--mode', 'freyr-2021'];

test('a training resumes with its own options only; its curve has no episode twice', async (t) => {
  const out = join(temporaryFolder('train-resume'), 'out');
  const options = [...SMALL, '--workloads', 'azure-sample', '--episodes', '2', '--out', out];
  t.is((await gleaner(options)).code, 0);
  const curve = join(out, 'learning-curve.csv');
  const written = readFileSync(curve, 'utf8');
  // As if it had been killed between the last save and the next.
  appendFileSync(curve, written.split('\n')[2]!.replace(/^1/, '2'));

  const other = await gleaner([...options, '--resume', '--seed', '7']);
  t.is(other.code, 2);
  t.regex(
    other.err,
    /cannot resume the training in .*: it was started with seed 10001 instead of 7/,
  );

  t.is((await gleaner([...options, '--resume'])).code, 0);
  t.is(readFileSync(curve, 'utf8'), written);
});
