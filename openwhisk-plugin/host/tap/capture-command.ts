import { accessSync, constants, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { FIN, RST, SYN } from './packet.js';

/**
 * What a capture is for. `heads`: every packet that a decision needs, each at once. `closes`: FINs,
 * of which the kernel gathers those of a second, so that they wake no process.
 */
export type CaptureKind = 'heads' | 'closes';

export interface CaptureOptions {
  /** tcpdump's name on PATH, or its path. */
  readonly tcpdump: string;
  readonly port: number;
  readonly kind: CaptureKind;
  /** A process in the network namespace of a pod, whose interfaces are captured. */
  readonly namespaceOf?: number;
}

/**
 * Bytes of a packet. `heads`: headers, a request head and every key before `value` at full length.
 * `closes`: headers at full length.
 */
const SNAPSHOTS = { heads: 2048, closes: 160 } as const;
/**
 * Kernel's buffer for packets not yet read, KiB: of many containers, of one pod; and of closes,
 * those of seconds at 2000 a second.
 */
const BUFFERS_KIB = { heads: 4096, closes: 2048 } as const;
const POD_BUFFER_KIB = 256;

/** Runs a command as a batch task where that is allowed. `$0`: chrt. */
const AS_BATCH = '"$0" -b -p 0 $$ >/dev/null 2>&1; exec "$@"';

/** The interface that stands for all of them. */
const ANY = 'any';

/**
 * The command that starts tcpdump on one bridge, on all interfaces of the host, or (by nsenter) on
 * those of a pod. With setpriv (util-linux) it runs from its first instruction as an unprivileged
 * user with only CAP_NET_RAW, and the kernel ends it with the hook, even after `kill -9`. Otherwise
 * tcpdump drops root itself (`-Z`).
 *
 * With chrt (util-linux) it takes no core from what runs (SCHED_BATCH, sched(7)): it would run once
 * for each packet before the container that the packet is for, which costs both twice as much.
 */
export function captureCommand(
  interfaceName: string,
  options: CaptureOptions,
): { file: string; args: readonly string[] } {
  const { kind, namespaceOf: pid } = options;
  const place = pid !== undefined ? 'pod' : interfaceName === ANY ? 'any' : 'bridge';
  const name = place === 'bridge' ? interfaceName : ANY;
  const buffer = String(place === 'pod' ? POD_BUFFER_KIB : BUFFERS_KIB[kind]);
  const capture = ['-i', name, '-n', '-U', '-s', String(SNAPSHOTS[kind])];
  if (kind === 'heads') capture.push('--immediate-mode');
  capture.push('--time-stamp-precision=nano', '-B', buffer, '-w', '-');
  // The link type that names the interface; without it the copies of a packet look alike.
  if (place !== 'bridge') capture.push('-y', 'LINUX_SLL2');
  const filter = captureFilter(options.port, kind, place);
  const enter =
    pid === undefined ? [] : [find('nsenter') ?? 'nsenter', `--net=/proc/${pid}/ns/net`];
  const isRoot = process.getuid?.() === 0;
  const user = isRoot ? unprivilegedUser() : null;
  const setpriv = isInstalled(options.tcpdump) ? find('setpriv') : null;
  if (setpriv === null) {
    if (user !== null) capture.push('-Z', user.name);
    return commandOf([...enter, options.tcpdump, ...capture, filter]);
  }
  const drop = ['--pdeathsig', 'KILL'];
  if (user !== null) {
    drop.push('--reuid', user.uid, '--regid', user.gid, '--clear-groups', '--no-new-privs');
    drop.push(
      '--inh-caps=-all,+net_raw',
      '--ambient-caps=-all,+net_raw',
      '--bounding-set=-all,+net_raw',
    );
  }
  const chrt = find('chrt');
  if (chrt !== null) enter.push('sh', '-c', AS_BATCH, chrt);
  return commandOf([...enter, setpriv, ...drop, '--', options.tcpdump, ...capture, filter]);
}

const commandOf = ([file = '', ...args]: string[]) => ({ file, args });

/** Whether a program can be run by this name or path. */
export function isInstalled(program: string): boolean {
  return find(program) !== null;
}

function find(program: string): string | null {
  const folders = program.includes('/')
    ? ['']
    : [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  for (const folder of folders) {
    const path = folder === '' ? program : join(folder, program);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // Not here; the next folder may have it.
    }
  }
  return null;
}

/** The user without privileges that every Linux system has. */
const OVERFLOW_UID = '65534';

function unprivilegedUser(): { name: string; uid: string; gid: string } | null {
  let users: string;
  try {
    users = readFileSync('/etc/passwd', 'utf8');
  } catch {
    return null;
  }
  const accounts = users.split('\n').map((line) => line.split(':'));
  const [name, , uid, gid] =
    accounts.find((fields) => fields[0] === 'tcpdump') ??
    accounts.find((fields) => fields[2] === OVERFLOW_UID) ??
    [];
  return name === undefined || uid === undefined || gid === undefined ? null : { name, uid, gid };
}

/** The first four payload bytes as a big-endian word, behind TCP options of any length. */
const PAYLOAD = 'tcp[((tcp[12] & 0xf0) >> 2):4]';

const POST = '0x504f5354';
const HTTP = '0x48545450';
const RUN_BODY = '0x7b226163'; // {"ac
const INIT_BODY = '0x7b227661'; // {"va

/**
 * The kernel filter for containers that serve on `port`. `heads`: from them RST, SYN-ACK and answer
 * heads, to them request heads and first body packets. The flags come first, because a load beyond
 * the end of a packet makes BPF reject it: a bare RST never passes a payload test.
 *
 * @param place `any`: on all interfaces of the host only packets that it receives from a container
 *   or sends to one, which leaves out the copies on the way to another host, where an address may
 *   be translated. `pod`: the same, seen from the pod; with FINs, as a pod has one capture
 */
export function captureFilter(
  port: number,
  kind: CaptureKind,
  place: 'bridge' | 'any' | 'pod' = 'bridge',
): string {
  if (!Number.isInteger(port) || port < 1 || port > 65535)
    throw new RangeError(`not a TCP port: ${port}`);
  const [inwards, outwards] = place === 'any' ? ['inbound', 'outbound'] : ['outbound', 'inbound'];
  const answering = `ip and tcp src port ${port}`;
  if (kind === 'closes') {
    const closes = `${answering} and tcp[13] & ${FIN} != 0`;
    return place === 'bridge' ? closes : `${inwards} and ${closes}`;
  }
  const flags = `tcp[13] & ${place === 'pod' ? FIN | SYN | RST : SYN | RST} != 0`;
  const answers = `${answering} and (${flags} or ${PAYLOAD} = ${HTTP})`;
  const requested = [POST, RUN_BODY, INIT_BODY].map((word) => `${PAYLOAD} = ${word}`).join(' or ');
  const requests = `ip and tcp dst port ${port} and (${requested})`;
  return place === 'bridge'
    ? `(${answers}) or (${requests})`
    : `(${inwards} and ${answers}) or (${outwards} and ${requests})`;
}
