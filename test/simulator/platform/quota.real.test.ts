import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { allowed } from '../../support/slowness.js';
import { fn, scene } from './scene.js';

const V2 = existsSync('/sys/fs/cgroup/cgroup.controllers');
const PARENT = V2 ? '/sys/fs/cgroup' : '/sys/fs/cgroup/cpu';
const GROUP = join(PARENT, `gleaner-test-quota-${process.pid}`);
/** Half a core, and the most weight that there is: the quota shall bind, not the neighbors. */
const LIMITS: readonly (readonly [string, string])[] = V2
  ? [
      ['cpu.max', '50000 100000'],
      ['cpu.weight', '10000'],
    ]
  : [
      ['cpu.cfs_period_us', '100000'],
      ['cpu.cfs_quota_us', '50000'],
      ['cpu.shares', '262144'],
    ];
const ACTIVATIONS = 50;
/**
 * Measured so often at the most: neighbors make real activations longer, never shorter, and a wrong
 * model is wrong each time.
 */
const ATTEMPTS = 3;

/**
 * Burns 80 ms of CPU after each of many random pauses, inside the group, and prints how long each
 * took.
 */
const BURNER = `
const burn = (ms) => {
  const from = process.cpuUsage();
  for (let x = 0; ; ) {
    for (let i = 0; i < 20000; i++) x += i;
    const { user, system } = process.cpuUsage(from);
    if (user + system >= ms * 1000) return x;
  }
};
burn(300);
require('node:fs').writeFileSync('${GROUP}/cgroup.procs', String(process.pid));
(async () => {
  const took = [];
  for (let i = 0; i < ${ACTIVATIONS}; i++) {
    await new Promise((done) => setTimeout(done, 120 + Math.random() * 200));
    const from = performance.now();
    burn(80);
    took.push(performance.now() - from);
  }
  console.log(JSON.stringify(took));
})();
`;

test('a simulated quota makes activations as long as a real kernel’s does', async (t) => {
  t.timeout(allowed(200_000));
  try {
    if (V2) writeFileSync(join(PARENT, 'cgroup.subtree_control'), '+cpu');
    mkdirSync(GROUP);
    for (const [name] of LIMITS) readFileSync(join(GROUP, name));
  } catch (error) {
    if (process.env.CI) throw error;
    t.log(`NOT TESTED: no cgroup with CPU quotas can be made here (${error})`);
    return;
  }
  // The same in the model. By hand, with r ms left of the period at the start: r < 30: 130; 30 to
  // 50: 80; above: r + 30. Mean 107.5; a fluid quota would say 160.
  const at = Array.from({ length: 400 }, (_, i) => i * 437.3);
  const s = await scene([fn('a', at, 80, { userCpuMillicores: 500 })]);
  s.runToEnd();
  const model = at.map((_, activation) => s.execution(activation));
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  t.true(Math.abs(mean(model) - 107.5) < 2);
  // A quarter is still far from the fluid model's half.
  const ratios: number[] = [];
  try {
    for (const [name, value] of LIMITS) writeFileSync(join(GROUP, name), value);
    while (ratios.length < ATTEMPTS && !ratios.some((ratio) => Math.abs(ratio - 1) < 0.25)) {
      const { stdout } = await promisify(execFile)(process.execPath, ['-e', BURNER], {
        timeout: allowed(60_000),
      });
      const real = mean(JSON.parse(stdout) as number[]);
      t.log(
        `80 ms of work under half a core: real ${real.toFixed(1)} ms, ` +
          `model ${mean(model).toFixed(1)} ms`,
      );
      ratios.push(real / mean(model));
    }
  } finally {
    rmdirSync(GROUP);
  }
  t.true(Math.abs(ratios.at(-1)! - 1) < 0.25, `real over model: ${ratios.join(', ')}`);
});
