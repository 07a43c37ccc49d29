// Trains the base policies that come with the product and puts them where they are read from (docs/model-card.md): `npm run train:shipped`, after a
// build. The same sources give the same bytes. `--resume` goes on where an earlier run was stopped.
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const SHIPPED = 'agents/simppo/shipped';
const resume = process.argv.includes('--resume') ? ['--resume'] : [];

for (const [mode, episodes] of Object.entries({ weight: 96, quota: 36 })) {
  train('single-agent', mode, episodes);
  // Begins with what the agents learnt who see nobody else.
  train('simppo', mode, 24, ['--begin-with', `${SHIPPED}/single-agent/${mode}`]);
}

function train(manager, mode, episodes, more = []) {
  const out = `${SHIPPED}/${manager}/${mode}`;
  const plan = ['--manager', manager, '--modes', mode, '--episodes', String(episodes), ...more, '--out', out];
  execFileSync(process.execPath, ['dist/cli/main.js', 'train', ...plan, ...resume], { cwd: root, stdio: 'inherit' });
  rmSync(`${root}/${out}/learning-curve.csv`, { force: true });
}
