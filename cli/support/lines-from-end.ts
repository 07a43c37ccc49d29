import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

const LINE_END = 10;
/** Read at once, and the longest line; a longer one is left out. */
const BLOCK_BYTES = 1024 * 1024;

/** Lines of a UTF-8 file of any size, newest first, without their ends. Throws what `fs` throws. */
export function* linesFromEnd(path: string): Generator<string> {
  const fd = openSync(path, 'r');
  try {
    let from = fstatSync(fd).size;
    /** Beginning of a line that goes on at `from`. */
    let rest = Buffer.alloc(0);
    let isTooLong = false;
    while (from > 0) {
      const block = Buffer.alloc(Math.min(BLOCK_BYTES, from));
      from -= block.length;
      readSync(fd, block, 0, block.length, from);
      const data = Buffer.concat([block, rest]);
      let end = data.length;
      while (end > 0) {
        const at = data.lastIndexOf(LINE_END, end - 1);
        if (at < 0) break;
        if (!isTooLong) yield data.toString('utf8', at + 1, end);
        isTooLong = false;
        end = at;
      }
      isTooLong ||= end > BLOCK_BYTES;
      rest = isTooLong ? Buffer.alloc(0) : Buffer.from(data.subarray(0, end));
    }
    if (!isTooLong) yield rest.toString('utf8');
  } finally {
    closeSync(fd);
  }
}
