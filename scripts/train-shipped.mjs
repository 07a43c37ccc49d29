// Trains base policies as those that come with the product were trained (docs/model-card.md):
// `npm run train:shipped [-- --out FOLDER] [--resume]`, after a build. It writes to FOLDER (default
// `trained`), never to the shipped files: only the commit that docs/model-card.md names gives
// their bytes again. `--resume` goes on where an earlier run was stopped.
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));
const { values } = parseArgs({
  options: {
    out: { type: 'string', default: 'trained' },
    resume: { type: 'boolean', default: false },
  },
});
const folder = resolve(values.out);

train('single-agent', 'weight', 96);
// Starts from the policy of the agents without a mean field.
train('simppo', 'weight', 24, ['--begin-with', `${folder}/single-agent/weight`]);
for (const manager of ['single-agent', 'simppo']) train(manager, 'quota', 36);

function train(manager, mode, episodes, more = []) {
  const out = `${folder}/${manager}/${mode}`;
  const plan = [
    '--manager',
    manager,
    '--mode',
    mode,
    '--episodes',
    String(episodes),
    ...more,
    '--out',
    out,
  ];
  execFileSync(
    process.execPath,
    ['dist/cli/main.js', 'train', ...plan, ...(values.resume ? ['--resume'] : [])],
    { cwd: root, stdio: 'inherit' },
  );
  rmSync(`${out}/learning-curve.csv`, { force: true });
}
