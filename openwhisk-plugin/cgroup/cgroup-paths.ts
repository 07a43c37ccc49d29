import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CgroupNamespaceError, CgroupNotFoundError } from './cgroup-errors.js';

/** One controller's directory, absolute and below the given root; null where this host does not have it for this container. */
export interface ControllerDirectory {
  readonly version: 1 | 2;
  readonly directory: string;
}

export interface CgroupPaths {
  readonly cpu: ControllerDirectory | null;
  readonly cpuacct: ControllerDirectory | null;
  readonly memory: ControllerDirectory | null;
  readonly freezer: ControllerDirectory | null;
  /** The last component of the path, e.g. `docker-<id>.scope`. */
  readonly unit: string;
}

interface Mount {
  readonly root: string;
  readonly point: string;
  readonly type: 'cgroup' | 'cgroup2';
  readonly controllers: readonly string[];
}

/**
 * Where the cgroups of a container are, from what the kernel says of its first process and of the mounts: never from a guessed
 * path (field-notes A2-21). Each controller stands for itself, so v1, v2 and hybrid hosts are one case.
 *
 * @param pid the container's first process
 * @param id the engine's identifier: a path without it belongs to somebody else (the pid was handed on)
 * @param root the file system's root, `/` but in tests
 * Throws {@link CgroupNotFoundError}, {@link CgroupNamespaceError}.
 */
export function resolveCgroups(pid: number, id: string, root = '/'): CgroupPaths {
  const groups = read(join(root, `proc/${pid}/cgroup`));
  if (groups === null) throw gone(`process ${pid} of container ${id.slice(0, 12)} does not run`);
  const mounts = parseMounts(read(join(root, 'proc/self/mountinfo')) ?? '');

  const v1 = new Map<string, string>();
  let unified: string | null = null;
  for (const line of groups.split('\n')) {
    const first = line.indexOf(':');
    const second = line.indexOf(':', first + 1);
    if (first < 0 || second < 0) continue;
    const controllers = line.slice(first + 1, second);
    const path = line.slice(second + 1);
    if (line.startsWith('0::')) unified = path;
    else for (const controller of controllers.split(',')) v1.set(controller, path);
  }

  const paths = [...v1.values(), unified ?? ''];
  const own = paths.find((path) => path.includes(id));
  if (own === undefined) {
    if (seesOnlyItself(root))
      throw new CgroupNamespaceError(`the cgroups of container ${id.slice(0, 12)} are not visible`);
    throw gone(`process ${pid} is not in a cgroup of container ${id.slice(0, 12)}`);
  }

  const find = (controller: string): ControllerDirectory | null => {
    const path = v1.get(controller);
    if (path?.includes(id)) {
      const mount = mounts.find((m) => m.type === 'cgroup' && m.controllers.includes(controller) && holds(m, path));
      const directory = mount && below(root, mount, upTo(path, id));
      return directory && existsSync(directory) ? { version: 1, directory } : null;
    }
    if (!unified?.includes(id)) return null;
    const mount = mounts.find((m) => m.type === 'cgroup2' && holds(m, unified));
    const directory = mount && below(root, mount, upTo(unified, id));
    if (!directory || !existsSync(directory)) return null;
    if (controller === 'freezer')
      return existsSync(join(directory, 'cgroup.freeze')) ? { version: 2, directory } : null;
    // cpu.stat's usage is there even without the controller, as cpuacct's was.
    if (controller === 'cpuacct') return existsSync(join(directory, 'cpu.stat')) ? { version: 2, directory } : null;
    const enabled = (read(join(directory, 'cgroup.controllers')) ?? '').trim().split(/\s+/);
    return enabled.includes(controller) ? { version: 2, directory } : null;
  };

  const found = { cpu: find('cpu'), cpuacct: find('cpuacct'), memory: find('memory'), freezer: find('freezer') };
  if (!found.cpu && !found.cpuacct && !found.memory && !found.freezer) {
    if (seesOnlyItself(root)) throw new CgroupNamespaceError(`no directory for cgroup ${own} is visible from here`);
    throw gone(`no directory for cgroup ${own}`);
  }
  return { ...found, unit: upTo(own, id).split('/').at(-1) ?? '' };
}

/**
 * Which of the controllers that limits need a mounted hierarchy of either version has; none where nothing is mounted. `doctor` asks
 * (field-notes A2-23).
 */
export function availableControllers(root = '/'): string[] {
  const mounts = parseMounts(read(join(root, 'proc/self/mountinfo')) ?? '');
  const unified = mounts.find((mount) => mount.type === 'cgroup2');
  const enabled = unified ? (read(join(root, unified.point, 'cgroup.controllers')) ?? '').trim().split(/\s+/) : [];
  return ['cpu', 'memory'].filter(
    (name) =>
      enabled.includes(name) || mounts.some(({ type, controllers }) => type === 'cgroup' && controllers.includes(name)),
  );
}

/** `/proc/self/mountinfo`: mount root, mount point and, for v1, the controllers among the super options. */
function parseMounts(text: string): Mount[] {
  const mounts: Mount[] = [];
  for (const line of text.split('\n')) {
    const separator = line.indexOf(' - ');
    if (separator < 0) continue;
    const [, , , mountRoot, point] = line.slice(0, separator).split(' ');
    const [type, , options] = line.slice(separator + 3).split(' ');
    if (mountRoot === undefined || point === undefined || (type !== 'cgroup' && type !== 'cgroup2')) continue;
    mounts.push({
      root: unescapeOctal(mountRoot),
      point: unescapeOctal(point),
      type,
      controllers: (options ?? '').split(','),
    });
  }
  return mounts;
}

const holds = (mount: Mount, path: string): boolean =>
  mount.root === '/' ? !path.startsWith('/..') : path === mount.root || path.startsWith(`${mount.root}/`);

const below = (root: string, mount: Mount, path: string): string =>
  join(root, mount.point, mount.root === '/' ? path : path.slice(mount.root.length));

/** The container's own cgroup, where its first process moved into a group below it. */
function upTo(path: string, id: string): string {
  const end = path.indexOf('/', path.indexOf(id));
  return end < 0 ? path : path.slice(0, end);
}

/** In a private cgroup namespace a process finds itself at the root of every hierarchy although it is not the host's first. */
function seesOnlyItself(root: string): boolean {
  const own = read(join(root, 'proc/self/cgroup'));
  if (own === null) return false;
  const lines = own.split('\n').filter((line) => line !== '');
  return lines.length > 0 && lines.every((line) => line.endsWith(':/'));
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

/** Spaces and backslashes of a path are octal in mountinfo. */
const unescapeOctal = (text: string): string =>
  text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));

const gone = (message: string): CgroupNotFoundError =>
  new CgroupNotFoundError(message, {
    hint: 'The container has probably ended; the next listing of the engine shows it.',
  });
