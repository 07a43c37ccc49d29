import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { gleaner } from '../support/gleaner.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const COMPARE = (
  'compare --managers fixed --seeds 1 --workloads azure-sample --functions 20 ' +
  '--loads 0.5 --modes weight --no-density --hosts 2 --cores 4'
).split(' ');
const REPRODUCE = 'reproduce concurrency --quick --seeds 1'.split(' ');

async function refused(t: ExecutionContext, args: readonly string[], out: string): Promise<void> {
  const ran = await gleaner([...args, '--out', out]);
  t.is(ran.code, 1);
  t.true(ran.err.startsWith(`gleaner: cannot write in ${out} (--out): `), ran.err);
  t.true(ran.err.includes('[GLN_OUTPUT_FOLDER]'), ran.err);
  t.is(ran.out, '');
}

// The runs take minutes, more than a command has here: the error comes before them.
for (const command of ['compare', 'reproduce aware', 'train', 'train-meta'])
  test(`${command} begins with its folder, and ends at once if it cannot be made`, async (t) => {
    const file = join(temporaryFolder('output'), 'file');
    writeFileSync(file, '');
    await refused(t, command.split(' '), file);
    await refused(t, command.split(' '), join(file, 'below'));
  });

test('a folder that is there and cannot be written is refused before the runs', async (t) => {
  // Not even root can make a file there.
  await refused(t, ['compare'], '/proc');
});

for (const [args, file, heading] of [
  [COMPARE, 'comparison.json', /azure-sample, weight mode/],
  [REPRODUCE, 'concurrency.md', /gleaner reproduce concurrency/],
] as const)
  test(`${args[0]} shows its figures also if a file cannot be written`, async (t) => {
    const out = temporaryFolder('output');
    mkdirSync(join(out, file));
    const ran = await gleaner([...args, '--out', out]);
    t.is(ran.code, 1);
    t.regex(ran.err, /EISDIR/);
    t.regex(ran.out, heading);
  });
