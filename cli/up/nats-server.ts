import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorClass } from '../../config/index.js';
import { type ChildSpec, natsServerArguments, natsServerPort } from '../../runtime/index.js';

export class NatsServerMissingError extends errorClass('GLN_NATS_SERVER_MISSING') {}
class NatsServerOldError extends errorClass('GLN_NATS_SERVER_OLD') {}

const MIN_VERSION = [2, 9] as const;
const PROBE_MILLIS = 25;

/** @throws `GLN_NATS_SERVER_OLD` if the binary names a version that Gleaner cannot use */
function checkVersion(binary: string): void {
  const { stdout } = spawnSync(binary, ['--version'], { encoding: 'utf8', timeout: 5000 });
  const version = /\bv?(\d+)\.(\d+)\.\d+/.exec(stdout ?? '');
  if (version === null) return;
  const [major, minor] = [Number(version[1]), Number(version[2])];
  const [leastMajor, leastMinor] = MIN_VERSION;
  if (major < leastMajor || (major === leastMajor && minor < leastMinor))
    throw new NatsServerOldError(binary, version[0], MIN_VERSION.join('.'));
}

export interface EmbeddedNats {
  readonly spec: ChildSpec;
  /** Known once it was ready; a restarted server has the same one. */
  port(): number;
}

/**
 * The embedded nats-server: loopback only, JetStream in the state folder. It picks a free port
 * itself, and is ready when it has told which. With `setpriv` the kernel ends it with the
 * supervisor, even if that is killed with SIGKILL. @throws `GLN_NATS_SERVER_OLD`
 */
export function embeddedNats(binary: string, folder: string, setpriv: string | null): EmbeddedNats {
  checkVersion(binary);
  const ports = join(folder, 'ports');
  // A server that was killed leaves its file.
  rmSync(ports, { recursive: true, force: true });
  mkdirSync(ports, { recursive: true });
  let port = -1;
  const spec: ChildSpec = {
    name: 'nats-server',
    command: setpriv ?? binary,
    args: () => {
      const args = natsServerArguments(port, folder, ports);
      return setpriv ? ['--pdeathsig', 'TERM', binary, ...args] : args;
    },
    channel: false,
    probe: async (pid, ended) => {
      let found: number | null = null;
      while (found === null) {
        await sleep(PROBE_MILLIS, undefined, { signal: ended });
        found = natsServerPort(ports, pid);
      }
      port = found;
    },
    stopMillis: 3000,
  };
  return { spec, port: () => port };
}
