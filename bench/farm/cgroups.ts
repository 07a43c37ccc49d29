import { type ChildProcess, spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { CFS_PERIOD_MICROS } from '../../rules/index.js';

const ROOT = '/sys/fs/cgroup';
const CONTROLLERS = ['cpu', 'cpuacct', 'memory', 'freezer'];
const SHARES = 128;

/** What every container of a farm is given, in the Engine's terms. */
export const FARM_LIMITS = {
  CpuShares: SHARES,
  NanoCpus: 1e9,
  CpuQuota: 0,
  CpuPeriod: 0,
  Memory: 2 ** 28,
  MemorySwap: 2 ** 28,
} as const;

/** Sleeps, or wakes ten times a second, so that the CPU counter changes between samples. */
const PROCESSES = {
  sleeping: ['sleep', 'infinity'],
  waking: ['tail', '---disable-inotify', '-f', '-s', '0.1', '/dev/null'],
} as const;
export type FarmProcess = keyof typeof PROCESSES;

/**
 * One container's cgroups with a process in them: real files of the kernel, at the price of a
 * `sleep`.
 */
export interface FarmCgroup {
  readonly pid: number;
  /** Ends the process as a container's end does, then takes the folders away. */
  remove(): Promise<void>;
}

/**
 * Where the cgroups are of a farm's name: each v1 controller's own folder, or one folder of v2.
 * Null: neither hierarchy has what is needed.
 */
function folders(farm: string): string[] | null {
  if (existsSync(join(ROOT, 'cgroup.controllers'))) return [join(ROOT, farm)];
  const roots = CONTROLLERS.map((controller) => join(ROOT, controller));
  return roots.every((root) => existsSync(join(root, 'cgroup.procs')))
    ? roots.map((root) => join(root, farm))
    : null;
}

/** The cgroups of one farm, `<controller>/<name>/<container id>`; needs root. */
export class FarmCgroups {
  readonly #folders: readonly string[];
  readonly #isV2: boolean;
  readonly #process: FarmProcess;

  /** Throws where this machine's cgroups are not mounted as usual. */
  constructor(name: string, inside: FarmProcess = 'sleeping') {
    this.#process = inside;
    const found = folders(name);
    if (found === null)
      throw new Error(
        `${ROOT} has neither cgroup v2 nor the v1 hierarchies ${CONTROLLERS.join(', ')}`,
      );
    this.#folders = found;
    this.#isV2 = found.length === 1;
    for (const folder of found) mkdirSync(folder, { recursive: true });
    if (!this.#isV2) return;
    for (const folder of [ROOT, found[0]!])
      writeFileSync(join(folder, 'cgroup.subtree_control'), '+cpu +memory');
  }

  get version(): '1' | '2' {
    return this.#isV2 ? '2' : '1';
  }

  add(id: string): FarmCgroup {
    const own = this.#folders.map((folder) => join(folder, id));
    for (const folder of own) mkdirSync(folder);
    const put = (file: string, text: string): void => {
      const folder = own.find((each) => existsSync(join(each, file)));
      if (folder !== undefined) writeFileSync(join(folder, file), text);
    };
    if (this.#isV2) {
      // As runc converts shares (2..262144) to a weight (1..10000).
      put('cpu.weight', String(1 + Math.floor(((SHARES - 2) * 9999) / 262_142)));
      put('cpu.max', `${CFS_PERIOD_MICROS} ${CFS_PERIOD_MICROS}`);
      put('memory.max', String(FARM_LIMITS.Memory));
      put('memory.swap.max', '0');
    } else {
      put('cpu.shares', String(SHARES));
      put('cpu.cfs_quota_us', String(CFS_PERIOD_MICROS));
      put('memory.limit_in_bytes', String(FARM_LIMITS.Memory));
      put('memory.memsw.limit_in_bytes', String(FARM_LIMITS.MemorySwap));
    }
    const [file, ...args] = PROCESSES[this.#process];
    const child = spawn(file, args, { stdio: 'ignore' });
    child.unref();
    const { pid } = child;
    if (pid === undefined) throw new Error('no process can be started for a container');
    for (const folder of own) writeFileSync(join(folder, 'cgroup.procs'), String(pid));
    return { pid, remove: () => removeCgroup(child, own) };
  }

  /** Takes away what is still there, and the farm's folders. */
  async close(): Promise<void> {
    for (const folder of this.#folders) {
      for (const entry of readdirSync(folder, { withFileTypes: true })) {
        if (!entry.isDirectory()) continue;
        for (const pid of readFileSync(join(folder, entry.name, 'cgroup.procs'), 'utf8').split(
          '\n',
        ))
          if (pid !== '') process.kill(Number(pid), 'SIGKILL');
        await removeFolder(join(folder, entry.name));
      }
      await removeFolder(folder);
    }
  }
}

async function removeCgroup(child: ChildProcess, own: readonly string[]): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await ended;
  for (const folder of own) await removeFolder(folder);
}

/** The kernel keeps a cgroup busy for a moment after its last process. */
async function removeFolder(folder: string): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      rmdirSync(folder);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
      if (tries === 100) throw error;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}
