import { accessSync, constants, realpathSync, type Stats, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { errorClass } from '../config/index.js';

class ConfigOpenError extends errorClass('GLN_CONFIG_OPEN') {}

/** Trusted beside root and its group. */
interface Trust {
  /** A user and a group; by default those of the person who called sudo. */
  readonly uid?: number;
  readonly gid?: number;
  /** Every group that was given the right to write. */
  readonly groups?: boolean;
}

const SUDO: Trust = {
  uid: Number(process.env.SUDO_UID ?? 0),
  gid: Number(process.env.SUDO_GID ?? 0),
};
const OTHERS_WRITE = 0o002;

/**
 * The user that can change what a process of root reads or runs at a path, such as `/etc/gleaner
 * belongs to user 1000`, by its owner and mode or those of a folder above it. Null if only root
 * can, if the process is not root's, which has no rights to lose, or if there is no file.
 */
export function foreignWriter(path: string, trust: Trust = SUDO): string | null {
  if (process.getuid?.() !== 0) return null;
  try {
    for (const at of new Set([...upwards(resolve(path)), ...upwards(realpathSync(path))])) {
      const status = statSync(at);
      if (status.uid !== 0 && status.uid !== trust.uid)
        return `${at} belongs to user ${status.uid}`;
      if (mayReplace(at, status, trust)) return `others may write ${at}`;
    }
    return null;
  } catch {
    return null;
  }
}

function upwards(path: string): string[] {
  const parent = dirname(path);
  return parent === path ? [path] : [path, ...upwards(parent)];
}

/** A folder with the sticky bit, such as /tmp, protects the files of each owner. */
function mayReplace(path: string, { mode, gid }: Stats, trust: Trust): boolean {
  const bits = trust.groups || gid === 0 || gid === trust.gid ? OTHERS_WRITE : 0o022;
  if ((mode & bits) === 0 || (mode & 0o1000) !== 0) return false;
  // Folders of a Kubernetes volume are open by their modes, and mounted read-only.
  return (mode & constants.S_IFMT) !== constants.S_IFDIR || !isReadOnly(path);
}

function isReadOnly(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EROFS';
  }
}

/**
 * Returns the warning of {@link foreignWriter} for a configuration file. @throws `GLN_CONFIG_OPEN`
 * if root would read a file that everybody may write: it names programs that are run.
 */
export function checkConfigWriters(path: string | undefined): string | null {
  if (path === undefined) return null;
  const status = statSync(path, { throwIfNoEntry: false });
  if (process.getuid?.() === 0 && status !== undefined && (status.mode & OTHERS_WRITE) !== 0)
    throw new ConfigOpenError(path);
  return foreignWriter(path);
}
