import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { bytes, micros, millicores } from '../../../../config/index.js';
import type { UserLimits } from '../../../../openwhisk-plugin/decision/index.js';
import type { ContainerInfo } from '../../../../openwhisk-plugin/host/ports/index.js';

/** A container's identifier as Docker makes them. */
export const ID = 'c0ffee'.padEnd(64, '0');
export const PID = 4242;
const MIB = 1024 * 1024;

export const V2_MOUNT = '25 1 0:22 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw,nsdelegate';
export const v1Mount = (controllers: string, point = controllers): string =>
  `33 31 0:29 / /sys/fs/cgroup/${point} rw,relatime - cgroup cgroup rw,${controllers}`;

/**
 * A file system's root with just the files of a case; v2 cannot be measured on every machine, its
 * formats are in the kernel's docs.
 */
export class FixtureTree {
  readonly root = mkdtempSync(join(tmpdir(), 'glcg-tree-'));

  write(path: string, text: string): this {
    const full = join(this.root, path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, text);
    return this;
  }

  /**
   * The first line: a shorter text written over a longer one leaves a tail in a plain file, which a
   * cgroup file has not.
   */
  line(path: string): string {
    return readFileSync(join(this.root, path), 'utf8').split('\n')[0] ?? '';
  }

  proc(cgroup: string, mounts: readonly string[], own = '0::/user.slice'): this {
    this.write(`proc/${PID}/cgroup`, `${cgroup}\n`).write(
      `proc/${PID}/schedstat`,
      '1000000 2500000 7\n',
    );
    return this.write('proc/self/cgroup', `${own}\n`).write(
      'proc/self/mountinfo',
      `${mounts.join('\n')}\n`,
    );
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}

export const V2_SCOPE = `sys/fs/cgroup/system.slice/docker-${ID}.scope`;

/**
 * A v2 host with one container as Docker with the systemd driver makes it: 256 MiB, 128 shares
 * (weight 5), no quota.
 */
export function v2Tree(files: Record<string, string> = {}, user: Partial<UserLimits> = {}) {
  const tree = new FixtureTree().proc(`0::/system.slice/docker-${ID}.scope`, [V2_MOUNT]);
  const defaults: Record<string, string> = {
    'cgroup.controllers': 'cpuset cpu io memory hugetlb pids rdma misc\n',
    'cgroup.freeze': '0\n',
    'cpu.weight': '5\n',
    'cpu.max': 'max 100000\n',
    'cpu.max.burst': '0\n',
    'cpu.stat':
      'usage_usec 1500\nuser_usec 1000\nsystem_usec 500\n' +
      'nr_periods 0\nnr_throttled 0\nthrottled_usec 0\n',
    'cpu.pressure':
      'some avg10=0.00 avg60=0.00 avg300=0.00 total=321\n' +
      'full avg10=0.00 avg60=0.00 avg300=0.00 total=12\n',
    'memory.max': `${256 * MIB}\n`,
    'memory.swap.max': '0\n',
    'memory.low': '0\n',
    'memory.current': `${40 * MIB}\n`,
    'memory.stat': 'anon 41943040\nfile 0\ninactive_file 0\n',
    'memory.events': 'low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n',
  };
  for (const [name, text] of Object.entries({ ...defaults, ...files })) {
    if (text !== '') tree.write(`${V2_SCOPE}/${name}`, text);
  }
  const at = (name: string): string => tree.line(`${V2_SCOPE}/${name}`);
  const put = (name: string, text: string): void => void tree.write(`${V2_SCOPE}/${name}`, text);
  return { tree, at, put, container: container(user) };
}

export function container(user: Partial<UserLimits> = {}): ContainerInfo {
  return {
    id: ID,
    name: 'wsk0_1_guest_f',
    address: '172.17.0.2',
    bridge: 'docker0',
    pid: PID,
    startedAt: micros(1_700_000_000_000_000),
    paused: false,
    user: {
      shares: 128,
      quota: millicores(0),
      memory: bytes(256 * MIB),
      memoryAndSwap: bytes(256 * MIB),
      periodMicros: 100_000,
      ...user,
    },
  };
}
