import { type ExecFileException, execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { systemClock } from '../../../../config/index.js';
import type { Bridge } from '../../../../openwhisk-plugin/host/ports/index.js';
import { allowed } from '../../../support/slowness.js';

export function command(file: string, ...args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(
      file,
      args,
      { timeout: allowed(30_000) },
      (error: ExecFileException | null, stdout, stderr) => {
        if (error) reject(new Error(`${file} ${args.join(' ')}: ${stderr || error.message}`));
        else resolve(stdout.trim());
      },
    );
  });
}

/**
 * A server as action containers have one: computes for `busy` ms, answers after `sleep` ms, dies on
 * `exit`, spills `HTTP…` into its answer's body.
 */
const SERVER = `
require('http').createServer((request, response) => {
  const parts = [];
  request.on('data', (part) => parts.push(part)).on('end', () => {
    let value = {};
    try { value = JSON.parse(Buffer.concat(parts)).value ?? {}; } catch {}
    if (value.exit) process.exit(1);
    for (const end = Date.now() + (value.busy ?? 0); Date.now() < end; );
    const end = () => {
      response.writeHead(value.status ?? 200, { 'content-type': 'application/json' });
      if (!value.spill) return response.end('{"ok":true}');
      response.write('HTTP/1.1 500 no\\r\\n\\r\\n');
      setTimeout(() => {
        response.socket.write('HTTP/1.1 404 no\\r\\n\\r\\n');
        response.socket.end();
      }, 20);
    };
    value.sleep ? setTimeout(end, value.sleep) : end();
  });
}).listen(8080, '0.0.0.0');
`;

export interface Container {
  readonly id: string;
  readonly address: string;
  readonly pid: string;
  readonly startedAt: number;
}

/**
 * Docker networks and containers of one test run, made from the host's own node, and taken away by
 * `clear`.
 */
export class Bridges {
  readonly #prefix: string;
  readonly #networks: string[] = [];
  readonly #containers: string[] = [];
  #image = '';

  constructor(prefix: string) {
    this.#prefix = `${prefix}${process.pid}`;
  }

  async prepare(): Promise<void> {
    this.#image = `${this.#prefix}-image`;
    await command('sh', '-c', `tar cf - --files-from /dev/null | docker import - ${this.#image}`);
  }

  async network(): Promise<Bridge> {
    const networkName = `${this.#prefix}-${this.#networks.length}`;
    const interfaceName = `gt${process.pid % 100000}n${this.#networks.length}`;
    await command(
      'docker',
      'network',
      'create',
      '-o',
      `com.docker.network.bridge.name=${interfaceName}`,
      networkName,
    );
    this.#networks.push(networkName);
    const gateway = await command(
      'docker',
      'network',
      'inspect',
      '-f',
      '{{(index .IPAM.Config 0).Gateway}}',
      networkName,
    );
    return { interfaceName, networkName, gateway };
  }

  async removeNetwork(networkName: string): Promise<void> {
    await command('docker', 'network', 'rm', networkName);
    this.#networks.splice(this.#networks.indexOf(networkName), 1);
  }

  /** `more`: options of `docker run`; `name`: as an invoker would name it. */
  async container(
    networkName: string,
    {
      script = SERVER,
      name = '',
      more = [],
    }: { script?: string; name?: string; more?: readonly string[] } = {},
  ): Promise<Container> {
    const mounts = new Set(['/usr', '/lib', '/lib64', dirname(process.execPath)]);
    const args = [
      'run',
      '-d',
      '--network',
      networkName,
      '--name',
      name || `${this.#prefix}-c${this.#containers.length}`,
    ];
    for (const folder of mounts) if (existsSync(folder)) args.push('-v', `${folder}:${folder}:ro`);
    const id = await command(
      'docker',
      ...args,
      ...more,
      this.#image,
      process.execPath,
      '-e',
      script,
    );
    this.#containers.push(id);
    const format =
      `{{(index .NetworkSettings.Networks "${networkName}").IPAddress}} ` +
      '{{.State.Pid}} {{.State.StartedAt}}';
    const [address = '', pid = '', started = ''] = (
      await command('docker', 'inspect', '-f', format, id)
    ).split(' ');
    return { id, address, pid, startedAt: Date.parse(started) * 1000 };
  }

  async removeContainer(id: string): Promise<void> {
    await command('docker', 'rm', '-f', id);
    this.#containers.splice(this.#containers.indexOf(id), 1);
  }

  async clear(): Promise<void> {
    for (const id of [...this.#containers]) await command('docker', 'rm', '-f', id).catch(() => '');
    for (const name of [...this.#networks])
      await command('docker', 'network', 'rm', name).catch(() => '');
    await command('docker', 'rmi', '-f', this.#image).catch(() => '');
  }
}

export const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, ms));

export async function until(what: string, condition: () => boolean, ms = 10_000): Promise<void> {
  const end = systemClock.monotonic() + allowed(ms);
  while (!condition()) {
    if (systemClock.monotonic() > end) throw new Error(`waited ${ms} ms in vain: ${what}`);
    await pause(5);
  }
}

export async function listening(address: string): Promise<void> {
  for (let tries = 0; tries < allowed(200); tries++) {
    const socket = await dial(address).catch(() => null);
    socket?.destroy();
    if (socket) return;
    await pause(25);
  }
  throw new Error(`nothing listens on ${address}`);
}

export function dial(address: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: address, port: 8080, noDelay: true }, () => {
      socket.off('error', reject);
      socket.on('error', () => socket.destroy());
      resolve(socket);
    });
    socket.once('error', reject);
  });
}

/**
 * Sends the parts with a pause between; resolves with what came back up to the end of a
 * Content-Length or chunked answer.
 */
export async function exchange(socket: Socket, ...parts: string[]): Promise<string> {
  const answer = new Promise<string>((resolve) => {
    let text = '';
    const take = (data: Buffer): void => {
      text += data.toString('latin1');
      if (text.includes('{"ok":true}')) done();
    };
    const done = (): void => {
      socket.off('data', take).off('close', done);
      resolve(text);
    };
    socket.on('data', take).on('close', done);
  });
  for (const [i, part] of parts.entries()) {
    if (i > 0) await pause(2);
    socket.write(part);
  }
  return answer;
}
