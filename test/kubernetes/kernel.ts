import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isUnified, ROOT } from '../../bench/kubernetes/pods.js';

/** The limits of a cgroup in the kernel's own units, whose periods here are 100 ms. */
export interface KernelLimits {
  /** v1 shares, v2 weight. */
  readonly weight: number;
  /** us per period; -1: none. */
  readonly quota: number;
  /** Bytes. */
  readonly memory: number;
}

/** @param group below each controller's mount */
export function kernelLimits(group: string): KernelLimits {
  const read = (controller: string, file: string): string =>
    readFileSync(join(ROOT, isUnified ? '' : controller, group, file), 'utf8').trim();
  if (!isUnified)
    return {
      weight: Number(read('cpu', 'cpu.shares')),
      quota: Number(read('cpu', 'cpu.cfs_quota_us')),
      memory: Number(read('memory', 'memory.limit_in_bytes')),
    };
  const [quota, period] = read('', 'cpu.max').split(' ');
  if (period !== '100000') throw new Error(`${group} has a period of ${period} us`);
  return {
    weight: Number(read('', 'cpu.weight')),
    quota: quota === 'max' ? -1 : Number(quota),
    memory: Number(read('', 'memory.max')),
  };
}
