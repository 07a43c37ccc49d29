import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { docker } from '../support/real-parts.js';

/** File of a container's limit in the kernel, in either version of cgroups. */
export function kernelFile(id: string, v1: [string, string], v2: string): string {
  const old = `/sys/fs/cgroup/${v1[0]}/docker/${id}/${v1[1]}`;
  if (existsSync(old)) return old;
  const pid = docker('inspect', '--format', '{{.State.Pid}}', id);
  const path = readFileSync(`/proc/${pid}/cgroup`, 'utf8').trim().split(':').at(-1)!;
  return join('/sys/fs/cgroup', path, v2);
}

export const weightFile = (id: string): string =>
  kernelFile(id, ['cpu', 'cpu.shares'], 'cpu.weight');

export const numberIn = (file: string): number => Number(readFileSync(file, 'utf8'));
