import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, readlinkSync, symlinkSync, unlinkSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { dirname } from 'node:path';
import { errorClass } from '../../../config/index.js';

export class HookLockedError extends errorClass('GLN_HOOK_LOCKED') {
  constructor(path: string, pid: number | null) {
    super(pid === null ? '' : ` (process ${pid})`, path);
  }
}

class HookLockError extends errorClass('GLN_HOOK_LOCK') {}

/** True if the process that wrote the lock is alive; its start time excludes a reused pid. */
function lives(pid: number, startTime: string): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  const now = startTimeOf(pid);
  return now === '' || startTime === '' || now === startTime;
}

/** Field 22 of /proc/<pid>/stat, after the name, which may have spaces; '' without /proc. */
function startTimeOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}

/** One hook per engine: an abstract socket, which the kernel frees with its process. */
export class EngineLock {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** Name of the socket without a file, as /proc/net/unix has it after an `@`. */
  static nameOf(engine: string): string {
    return `gleaner-hook-${createHash('sha256').update(engine).digest('hex').slice(0, 32)}`;
  }

  /** `engine`: e.g. the path of its socket. Rejects with `GLN_HOOK_LOCKED` if another has it. */
  static acquire(engine: string): Promise<EngineLock> {
    return new Promise((resolve, reject) => {
      const server = createServer((socket) => socket.destroy());
      server.unref();
      // Also later: a connection that cannot be accepted is an error of the server, too.
      server.on('error', (error: NodeJS.ErrnoException) =>
        reject(
          error.code === 'EADDRINUSE'
            ? new HookLockedError(engine, null)
            : new HookLockError(engine, error),
        ),
      );
      server.listen(`\0${EngineLock.nameOf(engine)}`, () => resolve(new EngineLock(server)));
    });
  }

  release(): void {
    this.#server.close();
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

/** One hook per state folder. A lock whose process is gone, as after `kill -9`, is taken over. */
export class HookLock {
  readonly #path: string;
  #held = true;

  private constructor(path: string) {
    this.#path = path;
  }

  /** Throws `GLN_HOOK_LOCKED` while another hook lives, `GLN_HOOK_LOCK` without the file. */
  static acquire(path: string): HookLock {
    for (let attempt = 0; ; attempt++) {
      try {
        mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
        // A dangling link that names its owner: created atomically, also on a full disk.
        symlinkSync(`${process.pid} ${startTimeOf(process.pid)}`, path);
        return new HookLock(path);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || attempt >= 3)
          throw new HookLockError(path, error);
      }
      const holder = HookLock.holder(path);
      if (holder !== null) throw new HookLockedError(path, holder);
      try {
        unlinkSync(path);
      } catch {
        // Another process was faster; the next attempt reports it.
      }
    }
  }

  /** The living process that holds the lock of a state folder; null: none. */
  static holder(path: string): number | null {
    try {
      const [pid = '', startTime = ''] = textOf(path).trim().split(' ');
      return Number(pid) > 0 && lives(Number(pid), startTime) ? Number(pid) : null;
    } catch {
      return null;
    }
  }

  release(): void {
    if (!this.#held) return;
    this.#held = false;
    try {
      unlinkSync(this.#path);
    } catch {
      // Gone already: nothing holds it.
    }
  }
}
