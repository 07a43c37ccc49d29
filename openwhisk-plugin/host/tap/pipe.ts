import { lstatSync, mkdtempSync, opendirSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PREFIX = 'gleaner-tap-';
/** As `mkdtemp` completes it; a longer name is another program's. */
const OWN_NAME = new RegExp(`^${PREFIX}[A-Za-z0-9]{6}$`);
/** Both ends of a pipe meet within milliseconds: a folder this old was left by a killed process. */
const ABANDONED_MILLIS = 60_000;

export interface Pipe {
  readonly writer: Socket;
  readonly reader: Socket;
}

/**
 * A pipe whose reading end fills `buffer`; Node's streams would allocate 64 KiB a read. Node offers
 * that only for sockets that it connects itself, so both ends meet at a socket in a folder with
 * access for this user only, which is removed at once. Rejects with the system's error.
 *
 * @param read gets the number of bytes in the buffer; false stops reading
 */
export async function openPipe(buffer: Buffer, read: (length: number) => boolean): Promise<Pipe> {
  const folder = mkdtempSync(join(tmpdir(), PREFIX));
  const server = createServer({ pauseOnConnect: true });
  try {
    return await new Promise<Pipe>((resolve, reject) => {
      let reader: Socket;
      server.on('error', reject);
      server.once('connection', (writer) => {
        writer.on('error', () => undefined);
        resolve({ writer, reader });
      });
      server.listen(join(folder, 'pcap'), () => {
        reader = connect({ path: join(folder, 'pcap'), onread: { buffer, callback: read } });
        reader.on('error', reject);
      });
    });
  } finally {
    server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Removes the folders of this user's killed hooks. `now`: wall clock, ms. Throws nothing. */
export function removeAbandonedPipes(now: number): void {
  try {
    const temporary = tmpdir();
    // Entry by entry: a list of a shared folder may hold hundreds of thousands of names.
    const entries = opendirSync(temporary);
    try {
      for (let entry = entries.readSync(); entry !== null; entry = entries.readSync()) {
        if (!OWN_NAME.test(entry.name)) continue;
        const folder = join(temporary, entry.name);
        if (isAbandoned(folder, now)) rmSync(folder, { recursive: true, force: true });
      }
    } finally {
      entries.closeSync();
    }
  } catch {
    // A folder that cannot be removed is no reason not to listen.
  }
}

function isAbandoned(folder: string, now: number): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  return (
    found?.isDirectory() === true &&
    found.uid === process.getuid?.() &&
    now - found.mtimeMs >= ABANDONED_MILLIS
  );
}
