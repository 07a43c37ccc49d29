import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { allowed } from '../support/slowness.js';

/** Limits of a container: shares, quota in millicores (0 = none), memory in bytes. */
export interface KernelLimits {
  readonly shares: number;
  readonly quota: number;
  readonly memory: number;
}

/**
 * A container as Docker and the kernel know it; read here by means of our own and not by the
 * hook's.
 */
export class WatchedContainer {
  readonly id: string;
  /** What inspect says. */
  readonly user: KernelLimits;
  readonly #v1 = isV1();
  /** v2: what the runtime made of the user's shares; NaN on v1. */
  readonly #ownWeight: number;
  readonly #folder: (controller: string) => string;
  readonly #quota: number;
  readonly #buffer = Buffer.alloc(64);

  constructor(id: string, pid: number, user: KernelLimits, ownWeight: number) {
    this.id = id;
    this.user = user;
    const paths = readFileSync(`/proc/${pid}/cgroup`, 'utf8').trim().split('\n');
    if (!this.#v1 && Number.isNaN(ownWeight)) throw new Error(`systemd has no weight of ${id}`);
    this.#ownWeight = ownWeight;
    this.#folder = (controller) => {
      const line = paths.find((each) =>
        this.#v1 ? each.split(':')[1]?.split(',').includes(controller) : true,
      );
      const path = line?.split(':').at(-1) ?? '';
      return this.#v1 ? join('/sys/fs/cgroup', controller, path) : join('/sys/fs/cgroup', path);
    };
    this.#quota = openSync(
      join(this.#folder('cpu'), this.#v1 ? 'cpu.cfs_quota_us' : 'cpu.max'),
      'r',
    );
  }

  /** Quota in force now, millicores; 0 = none. Throws where the cgroup is gone. */
  quota(): number {
    const length = readSync(this.#quota, this.#buffer, 0, this.#buffer.length, 0);
    const text = this.#buffer.toString('latin1', 0, length).trim();
    const micros = Number(this.#v1 ? text : text.split(' ')[0]);
    return micros > 0 ? micros / 100 : 0;
  }

  get lowered(): boolean {
    const quota = this.quota();
    return quota > 0 && quota < this.user.quota;
  }

  /**
   * All limits as the kernel has them. On cgroup v2 the shares are the user's while the weight is;
   * otherwise they are the weight.
   */
  limits(): KernelLimits {
    const read = (controller: string, file: string): string =>
      readFileSync(join(this.#folder(controller), file), 'utf8').trim();
    const weight = Number(read('cpu', this.#v1 ? 'cpu.shares' : 'cpu.weight'));
    const isOwn = !this.#v1 && weight === this.#ownWeight;
    return {
      quota: this.quota(),
      shares: isOwn ? this.user.shares : weight,
      memory: Number(
        this.#v1 ? read('memory', 'memory.limit_in_bytes') : read('memory', 'memory.max'),
      ),
    };
  }

  close(): void {
    closeSync(this.#quota);
  }
}

interface Inspected {
  readonly Id: string;
  readonly State: { readonly Pid: number };
  readonly HostConfig: {
    readonly CpuShares: number;
    readonly NanoCpus: number;
    readonly CpuQuota: number;
    readonly Memory: number;
  };
}

const isV1 = (): boolean => existsSync('/sys/fs/cgroup/cpu');

/** v2: the weights that containers began with, by their units; NaN where systemd has none. */
function ownWeights(ids: readonly string[]): number[] {
  if (isV1()) return ids.map(() => Number.NaN);
  const units = ids.map((id) => `docker-${id}.scope`);
  const args = ['show', ...units, '--property=CPUWeight', '--value'];
  return execFileSync('systemctl', args, { encoding: 'utf8' }).trim().split('\n\n').map(Number);
}

/** Every running container whose name begins with the prefix. */
export function watchContainers(
  prefix: string,
  env: NodeJS.ProcessEnv = process.env,
): WatchedContainer[] {
  const docker = (...args: string[]): string => {
    const { status, stdout, stderr } = spawnSync('docker', args, { encoding: 'utf8', env });
    // What ends between the list and this question is not shown; the others are.
    if (status !== 0 && !stderr.includes('No such object')) throw new Error(stderr);
    return stdout;
  };
  const ids = docker('ps', '--quiet', '--no-trunc', '--filter', `name=^${prefix}`)
    .split('\n')
    .filter(Boolean);
  if (ids.length === 0) return [];
  const known = JSON.parse(docker('inspect', ...ids)) as Inspected[];
  const all = known.filter(({ State }) => State.Pid > 0);
  const weights = ownWeights(all.map(({ Id }) => Id));
  return all.map(({ Id, State, HostConfig }, i) => {
    const quota =
      HostConfig.NanoCpus > 0 ? HostConfig.NanoCpus / 1e6 : Math.max(0, HostConfig.CpuQuota) / 100;
    const user = { shares: HostConfig.CpuShares, quota, memory: HostConfig.Memory };
    return new WatchedContainer(Id, State.Pid, user, weights[i]!);
  });
}

/** Polls until `done`; ms it took. Throws with `what` after `most` ms. */
export async function until(
  what: string,
  most: number,
  done: () => boolean,
  everyMillis = 5,
): Promise<number> {
  const begun = performance.now();
  while (!done()) {
    if (performance.now() - begun > allowed(most))
      throw new Error(`${what}: not within ${most} ms`);
    await new Promise((resolve) => setTimeout(resolve, everyMillis));
  }
  return performance.now() - begun;
}
