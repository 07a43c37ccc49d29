import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { CgroupNamespaceError, CgroupNotFoundError } from './cgroup-errors.js';
import {
  below,
  holds,
  type Mount,
  type Mounts,
  MountTable,
  readMounts,
  readText,
  searchById,
} from './cgroup-mounts.js';

/** One controller's directory, absolute. */
export interface ControllerDirectory {
  readonly version: 1 | 2;
  readonly directory: string;
}

/** Null: this host does not have the controller for this container. */
export interface CgroupPaths {
  readonly cpu: ControllerDirectory | null;
  readonly cpuacct: ControllerDirectory | null;
  readonly memory: ControllerDirectory | null;
  readonly freezer: ControllerDirectory | null;
  /** The last component of the path, e.g. `docker-<id>.scope`. */
  readonly unit: string;
}

const CONTROLLERS = ['cpu', 'cpuacct', 'memory', 'freezer'] as const;

/** The container's cgroups as the kernel names them: by v1 controller, and of the v2 tree. */
interface Membership {
  readonly v1: ReadonlyMap<string, string>;
  readonly unified: string | null;
}

/**
 * The cgroups of a container, from the kernel's data of its first process and of the mounts. Each
 * controller is looked up separately, so v1, v2 and hybrid hosts are one case. If /proc hides other
 * processes, the hierarchies are searched for the container's id. Throws {@link
 * CgroupNotFoundError}, {@link CgroupNamespaceError}.
 *
 * @param id the engine's identifier: a path without it belongs to another process (a reused pid)
 * @param table of the file system's root
 */
export function resolveCgroups(pid: number, id: string, table = new MountTable('/')): CgroupPaths {
  const { mounts, isFresh } = table.current();
  try {
    return resolvedIn(mounts, pid, id, table.root);
  } catch (error) {
    // A hierarchy may have been mounted since; a process that has ended is in none.
    if (isFresh || !existsSync(join(table.root, `proc/${pid}`))) throw error;
    return resolvedIn(table.readAgain(), pid, id, table.root);
  }
}

function resolvedIn(
  { cgroups: mounts, processesHidden }: Mounts,
  pid: number,
  id: string,
  root: string,
): CgroupPaths {
  const text = readText(join(root, `proc/${pid}/cgroup`));
  if (text === null && !processesHidden)
    throw new CgroupNotFoundError(`process ${pid} of container ${id.slice(0, 12)} does not run`);
  const { v1, unified } = text === null ? searched(mounts, id, root) : membershipOf(text);

  const own = [...v1.values(), unified ?? ''].find((path) => path.includes(id));
  if (own === undefined) {
    if (seesOnlyItself(root))
      throw new CgroupNamespaceError(`the cgroups of container ${id.slice(0, 12)} are not visible`);
    throw new CgroupNotFoundError(
      text === null
        ? `no cgroup of container ${id.slice(0, 12)} in any hierarchy ` +
            `(/proc is mounted with hidepid: process ${pid} cannot be read)`
        : `process ${pid} is not in a cgroup of container ${id.slice(0, 12)}`,
    );
  }

  const find = (controller: string): ControllerDirectory | null => {
    const path = v1.get(controller);
    if (path?.includes(id)) {
      const of = mounts.filter((m) => m.type === 'cgroup' && m.controllers.includes(controller));
      const directory = visible(root, of, path, id, pid);
      return directory === null ? null : { version: 1, directory: copied(directory) };
    }
    if (!unified?.includes(id)) return null;
    const of = mounts.filter((m) => m.type === 'cgroup2');
    const directory = visible(root, of, unified, id, pid);
    if (directory === null) return null;
    // v2 has these two without a controller.
    const file = { freezer: 'cgroup.freeze', cpuacct: 'cpu.stat' }[controller];
    const isThere =
      file === undefined
        ? enabledIn(directory).includes(controller)
        : existsSync(join(directory, file));
    return isThere ? { version: 2, directory: copied(directory) } : null;
  };

  const found = {
    cpu: find('cpu'),
    cpuacct: find('cpuacct'),
    memory: find('memory'),
    freezer: find('freezer'),
  };
  if (!found.cpu && !found.cpuacct && !found.memory && !found.freezer) {
    if (seesOnlyItself(root))
      throw new CgroupNamespaceError(`no directory for cgroup ${own} is visible from here`);
    throw new CgroupNotFoundError(`no directory for cgroup ${own}`);
  }
  return { ...found, unit: copied(upTo(own, id).split('/').at(-1) ?? '') };
}

/** V8 keeps the whole text that a string was cut from. */
const copied = (text: string): string => Buffer.from(text).toString();

/**
 * The cgroups of the pod that a container is in: the groups above the container's. systemd's slices
 * have `_` for each `-` of the identifier. Throws {@link CgroupNotFoundError}.
 */
export function podCgroups(container: CgroupPaths, uid: string): CgroupPaths {
  const above = (own: ControllerDirectory | null): ControllerDirectory | null => {
    if (own === null) return null;
    const directory = dirname(own.directory);
    const name = basename(directory);
    if (uid === '' || !(name.includes(uid) || name.includes(uid.replaceAll('-', '_'))))
      throw new CgroupNotFoundError(`${own.directory} is not in the cgroup of pod ${uid}`);
    return { version: own.version, directory };
  };
  const pod = {
    cpu: above(container.cpu),
    cpuacct: above(container.cpuacct),
    memory: above(container.memory),
    freezer: above(container.freezer),
  };
  return { ...pod, unit: basename((pod.cpu ?? pod.memory)?.directory ?? '') };
}

function membershipOf(text: string): Membership {
  const v1 = new Map<string, string>();
  let unified: string | null = null;
  for (const line of text.split('\n')) {
    const first = line.indexOf(':');
    const second = line.indexOf(':', first + 1);
    if (first < 0 || second < 0) continue;
    const controllers = line.slice(first + 1, second);
    const path = line.slice(second + 1);
    if (line.startsWith('0::')) unified = path;
    else for (const controller of controllers.split(',')) v1.set(controller, path);
  }
  return { v1, unified };
}

function searched(mounts: readonly Mount[], id: string, root: string): Membership {
  const v1 = new Map<string, string>();
  let unified: string | null = null;
  for (const mount of mounts) {
    const lacking = CONTROLLERS.filter((name) => mount.controllers.includes(name) && !v1.has(name));
    if (mount.type === 'cgroup2' ? unified !== null : lacking.length === 0) continue;
    const path = searchById(mount, id, root);
    if (path === null) continue;
    if (mount.type === 'cgroup2') unified = path;
    else for (const controller of lacking) v1.set(controller, path);
  }
  return { v1, unified };
}

/**
 * The directory under the mount that has it. A hierarchy can be mounted more than once, also in
 * part (https://github.com/google/cadvisor/issues/306): of several, the one that lists the process.
 */
function visible(
  root: string,
  mounts: readonly Mount[],
  path: string,
  id: string,
  pid: number,
): string | null {
  const found = mounts
    .filter((mount) => holds(mount, path))
    .map((mount) => ({
      directory: below(root, mount, upTo(path, id)),
      own: below(root, mount, path),
    }))
    .filter(({ directory }) => existsSync(directory));
  if (found.length < 2) return found[0]?.directory ?? null;
  const listed = found.find(({ own }) =>
    (readText(join(own, 'cgroup.procs')) ?? '').split('\n').includes(String(pid)),
  );
  return (listed ?? found[0])?.directory ?? null;
}

/** The controllers that limits need and that a mounted hierarchy of either version has. */
export function availableControllers(root = '/'): string[] {
  const { cgroups } = readMounts(root);
  const enabled = cgroups
    .filter(({ type }) => type === 'cgroup2')
    .flatMap(({ point }) => enabledIn(join(root, point)));
  return ['cpu', 'memory'].filter(
    (name) =>
      enabled.includes(name) ||
      cgroups.some(({ type, controllers }) => type === 'cgroup' && controllers.includes(name)),
  );
}

const enabledIn = (directory: string): string[] =>
  (readText(join(directory, 'cgroup.controllers')) ?? '').trim().split(/\s+/);

/** The container's own cgroup, where its first process moved into a group below it. */
function upTo(path: string, id: string): string {
  const end = path.indexOf('/', path.indexOf(id));
  return end < 0 ? path : path.slice(0, end);
}

/** In a private cgroup namespace every process finds itself at the root of every hierarchy. */
function seesOnlyItself(root: string): boolean {
  const own = readText(join(root, 'proc/self/cgroup'));
  if (own === null) return false;
  const lines = own.split('\n').filter((line) => line !== '');
  return lines.length > 0 && lines.every((line) => line.endsWith(':/'));
}
