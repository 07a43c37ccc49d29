/** Boots a guest from its image, and a disk with the product and a job. */
import { spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { run } from './image.mjs';

const COMMON = ['systemd.unified_cgroup_hierarchy=1', 'quiet', 'loglevel=3'];

/** Program, arguments and environment. The job's line is the guest's `guest_line`, here stdout. */
const kinds = {
  uml: (image, product, scratch, { memoryMiB }) => ({
    program: 'linux.uml',
    args: [
      `mem=${memoryMiB}M`,
      `ubd0=${join(scratch, 'root.cow')},${join(image, 'root.ext4')}`,
      `ubd1=${product}`,
      ...['root=/dev/ubda', 'rw', 'con0=null,fd:2', 'con=null', 'ssl0=null,fd:1', 'ssl=null'],
      ...['guest_line=ttyS0', ...COMMON],
    ],
    // Its memory is a file.
    env: { ...process.env, TMPDIR: '/dev/shm' },
  }),
  qemu: (image, product, scratch, { memoryMiB, cpus, kvm }) => {
    const root = join(scratch, 'root.qcow2');
    const base = join(image, 'root.ext4');
    run('qemu-img', ['create', '-q', '-f', 'qcow2', '-b', base, '-F', 'raw', root]);
    const append = ['root=/dev/vda', 'rw', 'console=ttyS0', 'net.ifnames=0', 'mitigations=off'];
    const more = ['psi=1', 'guest_line=ttyS1', ...COMMON];
    const drive = (file, format) => `file=${file},if=virtio,format=${format},cache=unsafe`;
    return {
      program: 'qemu-system-x86_64',
      args: [
        ...['-accel', kvm ? 'kvm' : 'tcg,thread=multi', '-cpu', kvm ? 'host' : 'max'],
        ...['-M', 'q35,hpet=off', '-smp', String(cpus), '-m', String(memoryMiB)],
        ...['-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot'],
        ...['-kernel', join(image, 'vmlinuz'), '-initrd', join(image, 'initrd')],
        ...['-append', [...append, ...more].join(' ')],
        ...['-drive', drive(root, 'qcow2'), '-drive', drive(product, 'raw')],
        ...['-nic', 'none', '-device', 'virtio-rng-pci'],
        ...['-serial', `file:${join(scratch, 'console.log')}`, '-serial', 'stdio'],
      ],
      env: process.env,
    };
  },
};

/** Resolves with the job's exit code; null: the machine ended without one. */
export function runGuest(kind, image, product, scratch, machine, line) {
  const { program, args, env } = kinds[kind](image, product, scratch, machine);
  const console = openSync(join(scratch, 'console.log'), 'a');
  // A group of its own: user-mode Linux is many processes.
  const child = spawn(program, args, { env, detached: true, stdio: ['ignore', 'pipe', console] });
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
