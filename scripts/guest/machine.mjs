/** Boots a guest from its image, and a disk with the product and a job. */
import { spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** Resolves with the job's exit code; null: the machine ended without one. */
export function runGuest(image, product, scratch, memoryMiB, line) {
  // The job's line is the guest's first serial one, here stdout.
  const args = [
    `mem=${memoryMiB}M`,
    `ubd0=${join(scratch, 'root.cow')},${join(image, 'root.ext4')}`,
    `ubd1=${product}`,
    ...['root=/dev/ubda', 'rw', 'con0=null,fd:2', 'con=null', 'ssl0=null,fd:1', 'ssl=null'],
    ...['guest_line=ttyS0', 'systemd.unified_cgroup_hierarchy=1', 'quiet', 'loglevel=3'],
  ];
  // Its memory is a file.
  const env = { ...process.env, TMPDIR: '/dev/shm' };
  const console = openSync(join(scratch, 'console.log'), 'a');
  // A group of its own: user-mode Linux is many processes.
  const child = spawn('linux.uml', args, {
    env,
    detached: true,
    stdio: ['ignore', 'pipe', console],
  });
  const end = () => {
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  };
  for (const signal of ['SIGINT', 'SIGTERM'])
    process.once(signal, () => {
      end();
      process.exit(1);
    });
  process.once('exit', end);
  return new Promise((resolve, reject) => {
    let code = null;
    createInterface({ input: child.stdout }).on('line', (text) => {
      const found = /^# guest: ended with (\d+)/.exec(text);
      if (found !== null) code = Number(found[1]);
      line(text);
    });
    child.on('error', reject);
    child.on('close', () => resolve(code));
  });
}
