import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * A Docker Engine on a unix socket of its own, for what a real one does not do on request: hang,
 * lie, be a later version.
 */
export interface StubEngine {
  readonly socketPath: string;
  readonly requests: { method: string; url: string }[];
  /** Most requests that were open at once. */
  readonly most: () => number;
  close(): Promise<void>;
}

export type Answer = (url: string, response: ServerResponse, request: IncomingMessage) => void;

export async function stubEngine(answer: Answer): Promise<StubEngine> {
  const folder = mkdtempSync(join(tmpdir(), 'glcg-'));
  const socketPath = join(folder, 'engine.sock');
  const requests: { method: string; url: string }[] = [];
  let open = 0;
  let most = 0;
  const server: Server = createServer((request, response) => {
    requests.push({ method: request.method ?? '', url: request.url ?? '' });
    open++;
    most = Math.max(most, open);
    response.on('close', () => {
      open--;
    });
    answer(request.url ?? '', response, request);
  });
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  return {
    socketPath,
    requests,
    most: () => most,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          rmSync(folder, { recursive: true, force: true });
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

export const json = (response: ServerResponse, value: unknown, status = 200): void => {
  response.writeHead(status, { 'Content-Type': 'application/json', 'Api-Version': '1.41' });
  response.end(JSON.stringify(value));
};

/** An answer without a response: Node's client only closes the request. */
export const SWITCHING_PROTOCOLS =
  'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n';

export const VERSION = { ApiVersion: '1.41', MinAPIVersion: '1.12' };

export interface StubContainer {
  id: string;
  name: string;
  startedAt: string;
  paused?: boolean;
  address?: string;
  pid?: number;
  host?: Record<string, number | undefined>;
}

/** What inspect answers for it, as Docker 20.10 does, shortened to what is read. */
export const inspectOf = (container: StubContainer): unknown => ({
  Id: container.id,
  Name: `/${container.name}`,
  State: {
    Status: 'running',
    Running: true,
    Paused: container.paused ?? false,
    Pid: container.pid ?? 4242,
    StartedAt: container.startedAt,
  },
  HostConfig: {
    CpuShares: 128,
    NanoCpus: 0,
    CpuQuota: 0,
    CpuPeriod: 0,
    Memory: 268435456,
    MemorySwap: 268435456,
    ...container.host,
  },
  NetworkSettings: {
    Networks: { bridge: { NetworkID: 'net0', IPAddress: container.address ?? '172.17.0.2' } },
  },
});

export const NETWORKS = [
  {
    Id: 'net0',
    Name: 'bridge',
    Driver: 'bridge',
    IPAM: { Config: [{ Subnet: '172.17.0.0/16', Gateway: '172.17.0.1' }] },
    Options: { 'com.docker.network.bridge.name': 'docker0' },
  },
  { Id: 'net1', Name: 'host', Driver: 'host', IPAM: { Config: [] }, Options: {} },
];

/** 64 hex digits, as the engine's identifiers are. */
export const idOf = (n: number): string => n.toString(16).padStart(64, 'a');
