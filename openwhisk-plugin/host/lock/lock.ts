import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { errorClass, messageOf } from '../../../config/index.js';

const { O_CREAT, O_NOFOLLOW, O_RDWR } = constants;

interface Holder {
  readonly pid: number;
  /** Null: the process ended meanwhile. */
  readonly uid: number | null;
}

export class HookLockedError extends errorClass('GLN_HOOK_LOCKED') {
  constructor(path: string, holder: Holder | null) {
    const user = holder?.uid == null ? '' : ` of user ${holder.uid}`;
    super(holder === null ? 'another process' : `process ${holder.pid}${user}`, path);
  }
}

class HookLockError extends errorClass('GLN_HOOK_LOCK') {
  constructor(path: string, cause: unknown) {
    super(path, messageOf(cause), cause);
  }
}

/** True if the process that wrote the lock is alive; its start time excludes a reused pid. */
const lives = (pid: number, startTime: string): boolean =>
  startTime !== '' && startTimeOf(pid) === startTime;

/**
 * Field 22 of /proc/<pid>/stat, after the name, which may have spaces; '' if it is hidden, or if
 * the process has ended and its parent has not waited for it, as in a container without an init.
 */
function startTimeOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const [state, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' ? '' : (rest[18] ?? '');
  } catch {
    return '';
  }
}

/** Null: another process has the file locked. Rejects without `flock` of util-linux. */
async function lockFile(path: string): Promise<number | null> {
  for (;;) {
    const fd = openSync(path, O_CREAT | O_RDWR | O_NOFOLLOW, 0o600);
    try {
      // The lock is of the open file, so it stays when this child ends. Node cannot take one.
      const child = spawn('flock', ['-xn', '3'], { stdio: ['ignore', 'ignore', 'ignore', fd] });
      const [code] = await once(child, 'exit');
      if (code !== 0 && code !== 1) throw new Error(`flock ended with ${code}`);
      // Its last holder may have removed it meanwhile.
      const isCurrent = statSync(path, { throwIfNoEntry: false })?.ino === fstatSync(fd).ino;
      if (code === 0 && isCurrent) return fd;
      closeSync(fd);
      if (code === 1) return null;
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }
}

const holderOf = (pid: number): Holder => ({
  pid,
  uid: statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid ?? null,
});

/**
 * Names this process in a link at `path`, for {@link HookLock.holder}, with a note of one word.
 * Returns the link's text.
 */
export function nameProcess(path: string, note = ''): string {
  const text = `${process.pid} ${startTimeOf(process.pid)} ${note}`.trimEnd();
  rmSync(path, { force: true });
  // A link is made atomically, also on a full disk.
  symlinkSync(text, path);
  return text;
}

/** Only root may write here. In a container it must be the host's, or hooks miss each other. */
export const ENGINE_LOCKS = '/var/lib/gleaner/engines';

/**
 * Without the links of a path, but below `/var/run` as most configurations and earlier releases
 * have it: a container with the host's socket may lack the host's link from there to `/run`.
 */
const realPath = (path: string): string => withoutLinks(path).replace(/^\/run\//, '/var/run/');

function withoutLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // An engine that is stopped may have removed its socket, but not the folder.
    const folder = dirname(path);
    return folder === path ? path : join(withoutLinks(folder), basename(path));
  }
}

/**
 * The lock of an engine by the path of its socket: for root one on this machine, whatever the state
 * folder. Other users, who cannot write there, have one in each state folder.
 */
export function engineLockPath(
  engine: string,
  stateDir: string,
  isRoot = process.getuid?.() === 0,
): string {
  const name = createHash('sha256').update(realPath(engine)).digest('hex').slice(0, 32);
  return join(isRoot ? ENGINE_LOCKS : stateDir, `engine-${name}.lock`);
}

/** The living process that a link of {@link nameProcess} names, and its note; null: none. */
export function namedProcess(path: string): { readonly pid: number; readonly note: string } | null {
  try {
    const [pid = '', startTime = '', note = ''] = textOf(path).trim().split(' ');
    return lives(Number(pid), startTime) ? { pid: Number(pid), note } : null;
  } catch {
    return null;
  }
}

/** Locks of earlier releases are files. */
function textOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return readFileSync(path, 'utf8');
  }
}

/**
 * One process per file: a hook's state folder, an engine, the journal of actions. The kernel's lock
 * of `<path>.flock` decides, which ends with its process, also after `kill -9`: only who may write
 * to the folder can take it. The file at `path`, a dangling link, names the process for messages
 * and for earlier releases, which have no other lock. What a killed process leaves is taken over.
 */
export class HookLock {
  readonly #path: string;
  readonly #owner: string;
  #fd: number | null;

  private constructor(path: string, owner: string, fd: number) {
    this.#path = path;
    this.#owner = owner;
    this.#fd = fd;
  }

  /** Rejects with `GLN_HOOK_LOCKED` while another has it, `GLN_HOOK_LOCK` without the file. */
  static async acquire(path: string): Promise<HookLock> {
    let fd: number | null = null;
    try {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      fd = await lockFile(lockedFile(path));
      const pid = HookLock.holder(path);
      if (pid !== null || fd === null)
        throw new HookLockedError(path, pid === null ? null : holderOf(pid));
      return new HookLock(path, nameProcess(path), fd);
    } catch (error) {
      if (fd !== null) closeSync(fd);
      throw error instanceof HookLockedError ? error : new HookLockError(path, error);
    }
  }

  /** The living process that has the lock; null: none. */
  static holder(path: string): number | null {
    return namedProcess(path)?.pid ?? null;
  }

  release(): void {
    if (this.#fd === null) return;
    try {
      if (readlinkSync(this.#path) === this.#owner) {
        rmSync(this.#path);
        rmSync(lockedFile(this.#path));
      }
    } catch {
      // Gone already: nothing names this process.
    }
    closeSync(this.#fd);
    this.#fd = null;
  }
}

const lockedFile = (path: string): string => `${path}.flock`;
