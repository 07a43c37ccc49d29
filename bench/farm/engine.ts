import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FARM_LIMITS } from './cgroups.js';

/** One container in the Engine's answers. */
export interface FarmContainer {
  readonly id: string;
  readonly name: string;
  readonly address: string;
  readonly pid: number;
  /** RFC 3339. */
  readonly startedAt: string;
}

const NETWORK = 'farm'.padEnd(64, '0');

/**
 * The Engine's side of a farm: the answers of Docker's API that Gleaner reads, in the shape of
 * Docker 20.10 (API 1.41), on a socket of its own. The reported host is large enough for every
 * container at once.
 */
export class FarmEngine {
  readonly #folder = mkdtempSync(join(tmpdir(), 'gleaner-farm-'));
  readonly socketPath = join(this.#folder, 'engine.sock');
  readonly #containers = new Map<string, FarmContainer>();
  readonly #streams = new Set<ServerResponse>();
  readonly #server: Server;
  readonly #facts: {
    readonly bridge: string;
    readonly gateway: string;
    readonly cgroupVersion: '1' | '2';
  };

  constructor(facts: { bridge: string; gateway: string; cgroupVersion: '1' | '2' }) {
    this.#facts = facts;
    this.#server = createServer((request, response) => this.#answer(request.url ?? '', response));
  }

  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(this.socketPath, resolve);
    });
  }

  add(container: FarmContainer): void {
    this.#containers.set(container.id, container);
    this.#emit('start', container);
  }

  remove(id: string): void {
    const container = this.#containers.get(id);
    if (container === undefined) return;
    this.#containers.delete(id);
    this.#emit('die', container);
  }

  /** As at a restart of dockerd: every event stream breaks off. */
  dropStreams(): void {
    for (const stream of this.#streams) stream.destroy();
  }

  async close(): Promise<void> {
    this.dropStreams();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #emit(action: string, { id, name }: FarmContainer): void {
    const timeNano = Date.now() * 1e6;
    const event = {
      Type: 'container',
      Action: action,
      Actor: { ID: id, Attributes: { name } },
      timeNano,
    };
    for (const stream of this.#streams) stream.write(`${JSON.stringify(event)}\n`);
  }

  #answer(url: string, response: ServerResponse): void {
    const path = url.replace(/^\/v[\d.]+/, '').replace(/\?.*/, '');
    const inspected = /^\/containers\/(\w+)\/json$/.exec(path)?.[1];
    const one = inspected === undefined ? undefined : this.#containers.get(inspected);
    if (path === '/events') {
      response.writeHead(200, { 'Content-Type': 'application/json' }).flushHeaders();
      this.#streams.add(response);
      response.on('close', () => this.#streams.delete(response));
    } else if (path === '/_ping') send(response, 'OK');
    else if (path === '/version') send(response, { ApiVersion: '1.41', MinAPIVersion: '1.12' });
    else if (path === '/info') send(response, this.#info());
    else if (path === '/networks') send(response, this.#networks());
    else if (path === '/containers/json')
      send(response, [...this.#containers.values()].map(listed));
    else if (one !== undefined) send(response, inspection(one));
    else send(response, { message: `no such thing: ${path}` }, 404);
  }

  #info(): object {
    const { cgroupVersion } = this.#facts;
    const host = { NCPU: 256, MemTotal: 2 ** 40, ServerVersion: '20.10.24' };
    return { ...host, CgroupDriver: 'cgroupfs', CgroupVersion: cgroupVersion };
  }

  #networks(): object {
    const { bridge, gateway } = this.#facts;
    const Options = { 'com.docker.network.bridge.name': bridge };
    const IPAM = { Config: [{ Subnet: `${gateway}/16`, Gateway: gateway }] };
    return [{ Id: NETWORK, Name: 'farm', Driver: 'bridge', IPAM, Options }];
  }
}

function send(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'Content-Type': 'application/json', 'Api-Version': '1.41' });
  response.end(typeof value === 'string' ? value : JSON.stringify(value));
}

const listed = ({ id, name }: FarmContainer): object => ({
  Id: id,
  Names: [`/${name}`],
  State: 'running',
});

const inspection = ({ id, name, pid, startedAt, address }: FarmContainer): object => ({
  Id: id,
  Name: `/${name}`,
  State: { Status: 'running', Running: true, Paused: false, Pid: pid, StartedAt: startedAt },
  HostConfig: FARM_LIMITS,
  NetworkSettings: { Networks: { farm: { NetworkID: NETWORK, IPAddress: address } } },
});
