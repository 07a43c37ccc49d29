import { createHash } from 'node:crypto';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { createServer, type Server } from 'node:net';
import { basename, dirname } from 'node:path';
import { errorClass } from '../../../config/index.js';

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

class HookLockError extends errorClass('GLN_HOOK_LOCK') {}

/** True if the process that wrote the lock is alive; its start time excludes a reused pid. */
const lives = (pid: number, startTime: string): boolean =>
  startTime !== '' && startTimeOf(pid) === startTime;

/** Field 22 of /proc/<pid>/stat, after the name, which may have spaces; '' if it is hidden. */
function startTimeOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}

const hashOf = (text: string): string =>
  createHash('sha256').update(text).digest('hex').slice(0, 32);

/**
 * Takes a name that one process of this network namespace has at a time: an abstract socket, which
 * the kernel frees with its process, also after `kill -9`. Resolves to null if the name is taken.
 */
function bind(name: string): Promise<Server | null> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.unref();
    // Also later: a connection that cannot be accepted is an error of the server, too.
    server.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(null) : reject(error),
    );
    server.listen(`\0${name}`, () => resolve(server));
  });
}

const holderOf = (pid: number): Holder => ({
  pid,
  uid: statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid ?? null,
});

/**
 * The process that has the name, which any local user can take. Null: /proc does not show it to
 * this process.
 */
function socketHolder(name: string): Holder | null {
  const line = readFileSync('/proc/net/unix', 'utf8')
    .split('\n')
    // Node fills the name up with zeros, which are shown as `@`.
    .find((each) => each.includes(` @${name}`));
  // Num, RefCount, Protocol, Flags, Type, St, Inode, Path.
  const socket = `socket:[${line?.trim().split(/\s+/)[6]}]`;
  for (const pid of readdirSync('/proc')) {
    try {
      const folder = `/proc/${pid}/fd`;
      if (
        /^\d+$/.test(pid) &&
        readdirSync(folder).some((fd) => linkOf(`${folder}/${fd}`) === socket)
      )
        return holderOf(Number(pid));
    } catch {
      // Another user's process, or it ended.
    }
  }
  return null;
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

/** One hook per engine. */
export class EngineLock {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** Name of the socket without a file, as /proc/net/unix has it after an `@`. */
  static nameOf(engine: string): string {
    return `gleaner-hook-${hashOf(engine)}`;
  }

  /** `engine`: e.g. the path of its socket. Rejects with `GLN_HOOK_LOCKED` if another has it. */
  static async acquire(engine: string): Promise<EngineLock> {
    let server: Server | null;
    try {
      server = await bind(EngineLock.nameOf(engine));
    } catch (error) {
      throw new HookLockError(engine, error);
    }
    if (server === null) throw new HookLockedError(engine, socketHolder(EngineLock.nameOf(engine)));
    return new EngineLock(server);
  }

  release(): void {
    this.#server.close();
  }
}

/** By the identity of its folder, which may have several paths. */
function nameOfFile(path: string): string {
  const { dev, ino } = statSync(dirname(path), { bigint: true });
  return `gleaner-file-${hashOf(`${dev} ${ino} ${basename(path)}`)}`;
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
 * One process per file: a hook's state folder, or the journal of actions. A socket decides; the
 * file, a dangling link, names the process for messages and for earlier releases, which have no
 * socket. What a killed process leaves is taken over.
 */
export class HookLock {
  readonly #path: string;
  readonly #owner: string;
  readonly #server: Server;

  private constructor(path: string, owner: string, server: Server) {
    this.#path = path;
    this.#owner = owner;
    this.#server = server;
  }

  /** Rejects with `GLN_HOOK_LOCKED` while another has it, `GLN_HOOK_LOCK` without the file. */
  static async acquire(path: string): Promise<HookLock> {
    const owner = `${process.pid} ${startTimeOf(process.pid)}`;
    let server: Server | null = null;
    try {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      const name = nameOfFile(path);
      server = await bind(name);
      const pid = HookLock.holder(path);
      if (pid !== null) throw new HookLockedError(path, holderOf(pid));
      if (server === null) throw new HookLockedError(path, socketHolder(name));
      rmSync(path, { force: true });
      // A link is made atomically, also on a full disk.
      symlinkSync(owner, path);
      return new HookLock(path, owner, server);
    } catch (error) {
      server?.close();
      throw error instanceof HookLockedError ? error : new HookLockError(path, error);
    }
  }

  /** The living process that holds the lock of a state folder; null: none. */
  static holder(path: string): number | null {
    try {
      const [pid = '', startTime = ''] = textOf(path).trim().split(' ');
      return lives(Number(pid), startTime) ? Number(pid) : null;
    } catch {
      return null;
    }
  }

  release(): void {
    if (!this.#server.listening) return;
    try {
      if (readlinkSync(this.#path) === this.#owner) rmSync(this.#path);
    } catch {
      // Gone already: nothing names this process.
    }
    this.#server.close();
  }
}
