import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { addressOf } from '../../openwhisk-plugin/host/ports/index.js';
import type { Owner } from './parts.js';

const run = promisify(execFile);

/** Docker's group of a v1 host with the cgroupfs driver. */
const GROUPS = '/sys/fs/cgroup/cpu/docker';
const ENGINE = /^(docker|containerd|runc|exe$)/;

export interface TracedContainer {
  readonly name: string;
  readonly id: string;
  readonly address: number;
  readonly mainThread: number;
}

/** Containers whose names begin with `prefix`. */
export async function tracedContainers(prefix: string): Promise<TracedContainer[]> {
  const list = await run('docker', ['ps', '--quiet', '--no-trunc', '--filter', `name=^${prefix}_`]);
  const ids = list.stdout.trim().split('\n');
  const format = '{{.Id}} {{.Name}} {{.State.Pid}} {{.NetworkSettings.Networks.bridge.IPAddress}}';
  const { stdout } = await run('docker', ['inspect', '--format', format, ...ids]);
  return stdout
    .trim()
    .split('\n')
    .map((line) => {
      const [id, name, pid, ip] = line.split(' ') as [string, string, string, string];
      return { id, name: name.slice(1), address: addressOf(ip), mainThread: Number(pid) };
    });
}

/** The cgroup v1 weight in force. */
export const sharesOf = ({ id }: TracedContainer): number =>
  Number(readFileSync(join(GROUPS, id, 'cpu.shares'), 'latin1'));

/** Which container or process each thread of the host belongs to. */
export class Owners {
  readonly #owners = new Map<number, Owner>();
  readonly #names: ReadonlyMap<string, string>;
  readonly #gleaner: number;

  /** @param gleaner process of `gleaner up` */
  constructor(containers: readonly TracedContainer[], gleaner: number) {
    this.#names = new Map(containers.map(({ id, name }) => [id, name]));
    this.#gleaner = gleaner;
  }

  /** Threads of every container, also of those that `containers` does not name. */
  readContainers(): void {
    for (const id of readdirSync(GROUPS)) {
      if (id.length !== 64) continue;
      const owner = { container: this.#names.get(id) ?? id };
      for (const thread of linesOf(join(GROUPS, id, 'tasks')))
        this.#owners.set(Number(thread), owner);
    }
  }

  /** Threads of this process, which calls, and of Gleaner's with its NATS server. */
  readProcesses(): void {
    const parents = new Map<number, number>();
    for (const entry of readdirSync('/proc')) {
      const pid = Number(entry);
      if (pid > 0) parents.set(pid, parentOf(pid));
    }
    const isBelow = (pid: number, ancestor: number): boolean => {
      for (let at: number | undefined = pid; at !== undefined && at > 1; at = parents.get(at))
        if (at === ancestor) return true;
      return false;
    };
    for (const pid of parents.keys()) {
      const isNats = parents.get(pid) === process.pid && nameOf(pid) === 'nats-server';
      if (pid === process.pid) this.#add(pid, 'client');
      else if (isNats || isBelow(pid, this.#gleaner)) this.#add(pid, 'gleaner');
      else if (ENGINE.test(nameOf(pid))) this.#add(pid, 'engine');
    }
  }

  /** @param name of the thread, for threads that have ended */
  ownerOf(thread: number, name: string): Owner {
    const known = this.#owners.get(thread);
    if (known !== undefined) return known;
    return { process: ENGINE.test(name) ? 'engine' : 'system' };
  }

  #add(pid: number, process: 'client' | 'gleaner' | 'engine'): void {
    for (const thread of foldersIn(`/proc/${pid}/task`))
      this.#owners.set(Number(thread), { process });
  }
}

function linesOf(path: string): string[] {
  try {
    return readFileSync(path, 'latin1')
      .split('\n')
      .filter((line) => line !== '');
  } catch {
    return [];
  }
}

function foldersIn(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

const nameOf = (pid: number): string => linesOf(`/proc/${pid}/comm`)[0] ?? '';

function parentOf(pid: number): number {
  const stat = linesOf(`/proc/${pid}/stat`)[0] ?? '';
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] ?? 0);
}
