import { closeSync, constants, fstatSync, openSync } from 'node:fs';

/**
 * What `use` makes of an open regular file. Throws if it is none, such as a link or a
 * pipe, on which a read would stop the hook.
 */
export function withPlainFile<T>(path: string, use: (fd: number) => T): T {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    if (!fstatSync(fd).isFile()) throw new Error('not a file');
    return use(fd);
  } finally {
    closeSync(fd);
  }
}
