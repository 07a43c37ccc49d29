import { readFile, readlink } from 'node:fs/promises';
import { endianness } from 'node:os';
import type { Peer } from './connections.js';

/** States of /proc/net/tcp (the kernel's tcp_states.h) in which no byte can arrive. */
const TIME_WAIT = '06';
const LISTEN = '0A';
/** An IPv4 address within IPv6, as IPv6 sockets have it: `::ffff:a.b.c.d`. */
const MAPPED = /^0{16}(?:0000FFFF|FFFF0000)([0-9A-F]{8})$/;
/** Columns of a line: local address, remote address, state. */
const LINE = /^ *\d+: ([0-9A-F]+):([0-9A-F]{4}) ([0-9A-F]+):([0-9A-F]{4}) ([0-9A-F]{2}) /gm;
const IN_USE = /^TCP6?: inuse (\d+)/m;

interface Socket {
  readonly address: number;
  readonly port: number;
  readonly peer: Peer;
}

/**
 * Reads which TCP connections are open in the network namespaces of processes. The kernel looks
 * through a table of the whole host for each list, some 8 ms, so a namespace is read once, and not
 * at all if its only socket is the one that listens.
 */
export class OpenConnections {
  readonly #byNamespace = new Map<string, readonly Socket[]>();

  /** Clients that are connected to the address. Null: the process is gone, or not to be read. */
  async of(pid: number, address: number, port: number): Promise<readonly Peer[] | null> {
    try {
      const namespace = await readlink(`/proc/${pid}/ns/net`);
      let sockets = this.#byNamespace.get(namespace);
      if (sockets === undefined) {
        sockets = await socketsOf(pid);
        this.#byNamespace.set(namespace, sockets);
      }
      return sockets
        .filter((socket) => socket.address === address && socket.port === port)
        .map(({ peer }) => peer);
    } catch {
      return null;
    }
  }
}

async function socketsOf(pid: number): Promise<readonly Socket[]> {
  const read = (name: string): Promise<string> => readFile(`/proc/${pid}/net/${name}`, 'latin1');
  // A kernel without IPv6 has no such files.
  const readV6 = (name: string): Promise<string> => read(name).catch(() => '');
  const inUse = [await read('sockstat'), await readV6('sockstat6')];
  const count = inUse.reduce((sum, text) => sum + Number(IN_USE.exec(text)?.[1] ?? 0), 0);
  return count > 1 ? socketsIn((await read('tcp')) + (await readV6('tcp6'))) : [];
}

/** From the lines of /proc/net/tcp and tcp6; those with real IPv6 addresses are left out. */
export function socketsIn(text: string, isLittle = endianness() === 'LE'): Socket[] {
  const sockets: Socket[] = [];
  for (const [, local = '', port, remote = '', peerPort, state] of text.matchAll(LINE)) {
    if (state === LISTEN || state === TIME_WAIT) continue;
    const address = addressIn(local, isLittle);
    const peer = addressIn(remote, isLittle);
    if (address === null || peer === null) continue;
    sockets.push({
      address,
      port: Number.parseInt(port!, 16),
      peer: { address: peer, port: Number.parseInt(peerPort!, 16) },
    });
  }
  return sockets;
}

/** The kernel prints each word of an address in the host's byte order. */
function addressIn(hex: string, isLittle: boolean): number | null {
  const word = hex.length === 8 ? hex : MAPPED.exec(hex)?.[1];
  if (word === undefined) return null;
  const bytes = Buffer.from(word, 'hex');
  return isLittle ? bytes.readUInt32LE(0) : bytes.readUInt32BE(0);
}
