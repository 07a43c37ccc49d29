// Trains the base policies that come with the product and puts them where they are read from
// (docs/model-card.md): `npm run train:shipped`, after a build. The same sources give the same
// bytes. `--resume` goes on where an earlier run was stopped.
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const SHIPPED = 'agents/simppo/shipped';
const resume = process.argv.includes('--resume') ? ['--resume'] : [];

train('single-agent', 'weight', 96);
// Starts from the policy of the agents without a mean field.
train('simppo', 'weight', 24, ['--begin-with', `${SHIPPED}/single-agent/weight`]);
for (const manager of ['single-agent', 'simppo']) train(manager, 'quota', 36);

function train(manager, mode, episodes, more = []) {
  const out = `${SHIPPED}/${manager}/${mode}`;
  const plan = [
    '--manager',
    manager,
    '--modes',
    mode,
    '--episodes',
    String(episodes),
    ...more,
    '--out',
    out,
  ];
  execFileSync(process.execPath, ['dist/cli/main.js', 'train', ...plan, ...resume], {
    cwd: root,
    stdio: 'inherit',
  });
  rmSync(`${root}/${out}/learning-curve.csv`, { force: true });
}
