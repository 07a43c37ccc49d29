import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Broker } from '../broker/index.js';
import { NatsBroker } from '../broker/nats/index.js';
import { launchNatsServer } from './nats-server.js';

/**
 * A real nats-server with an empty store, for as long as `run` takes; all connections of `connect`
 * are closed with it.
 */
export async function withNats<T>(
  run: (url: string, connect: (name: string) => Promise<Broker>) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-bench-nats-'));
  const server = await launchNatsServer({ binary: 'nats-server', storeDirectory: folder });
  const brokers: Broker[] = [];
  const connect = async (name: string): Promise<Broker> => {
    const broker = new NatsBroker({ servers: [server.url], name });
    brokers.push(broker);
    while (!broker.connected) await new Promise((resolve) => setTimeout(resolve, 5));
    return broker;
  };
  try {
    return await run(server.url, connect);
  } finally {
    await Promise.all(brokers.map((broker) => broker.close()));
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
