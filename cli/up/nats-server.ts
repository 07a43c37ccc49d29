import { mkdirSync } from 'node:fs';
import { createServer, connect as open } from 'node:net';
import { errorClass } from '../../config/index.js';
import type { ChildSpec } from '../../runtime/index.js';

export class NatsServerMissingError extends errorClass('GLN_NATS_SERVER_MISSING') {}

/** A free loopback port. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = open({ port, host: '127.0.0.1' });
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}

/** Resolves when the port is open; the supervisor limits the wait. */
async function waitForPort(port: number): Promise<void> {
  while (!(await listens(port))) await new Promise((resolve) => setTimeout(resolve, 25));
}

/**
 * The embedded nats-server: loopback only, JetStream in the state folder. With `setpriv` the kernel
 * ends it with the supervisor, even if that is killed with SIGKILL.
 */
export function natsServerSpec(
  binary: string,
  port: number,
  folder: string,
  setpriv: string | null,
): ChildSpec {
  mkdirSync(folder, { recursive: true });
  const args = `--addr 127.0.0.1 --port ${port} --jetstream --store_dir`.split(' ').concat(folder);
  return {
    name: 'nats-server',
    command: setpriv ?? binary,
    args: setpriv ? ['--pdeathsig', 'TERM', binary, ...args] : args,
    channel: false,
    probe: () => waitForPort(port),
    stopMillis: 3000,
  };
}
