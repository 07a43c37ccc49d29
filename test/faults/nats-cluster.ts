import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'nats';
import { type LaunchedServer, launchNatsServer } from '../../bench/nats-server.js';
import type { Broker } from '../../broker/index.js';
import { NatsBroker } from '../../broker/nats/index.js';
import { NATS_BINARY } from '../broker/contract/server.js';
import { freePort } from '../support/free-port.js';
import { allowed } from '../support/slowness.js';
import type { Net } from './world/world.js';

interface Node {
  readonly name: string;
  readonly routes: number;
  /** Of its clients; -1: not started yet. */
  port: number;
  server: LaunchedServer | null;
}

/**
 * Three nats-servers on loopback that form one cluster with JetStream, each to be killed and
 * started again on its own.
 */
export class NatsCluster implements Net {
  readonly directory = mkdtempSync(join(tmpdir(), 'gleaner-nats-cluster-'));
  readonly #brokers: Broker[] = [];
  nodes: Node[] = [];

  async start(): Promise<void> {
    for (const name of ['n1', 'n2', 'n3']) {
      this.nodes.push({ name, routes: await freePort(), port: -1, server: null });
    }
    await Promise.all(this.nodes.map((_, i) => this.up(i)));
    await this.whole();
  }

  async up(index: number): Promise<void> {
    const node = this.nodes[index]!;
    const others = this.nodes
      .filter((other) => other !== node)
      .map(({ routes }) => `nats://127.0.0.1:${routes}`);
    node.server = await launchNatsServer({
      binary: NATS_BINARY,
      storeDirectory: join(this.directory, node.name),
      port: node.port,
      args: [
        '-n',
        node.name,
        '--cluster_name',
        'faults',
        '--cluster',
        `nats://127.0.0.1:${node.routes}`,
        '--routes',
        others.join(','),
      ],
    });
    node.port = node.server.port;
  }

  /** As `kill -9` does. */
  async kill(index: number): Promise<void> {
    const { server } = this.nodes[index]!;
    if (!server) return;
    process.kill(server.pid, 'SIGKILL');
    await server.ended;
    this.nodes[index]!.server = null;
  }

  /** In good order, as for an upgrade. */
  async stopNode(index: number): Promise<void> {
    await this.nodes[index]!.server?.stop();
    this.nodes[index]!.server = null;
  }

  /** Resolves when JetStream answers, and a store with three copies can be made. */
  async whole(): Promise<void> {
    const broker = new NatsBroker({ servers: this.servers, name: 'probe' });
    try {
      const end = performance.now() + allowed(60_000);
      for (let i = 0; ; i++) {
        try {
          await broker.keyValue(`probe${this.#brokers.length}`).put('k', new Uint8Array([i & 255]));
          return;
        } catch (error) {
          if (performance.now() > end) throw error;
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
      }
    } finally {
      await broker.close();
    }
  }

  /** Which node leads a stream now. */
  async leaderOf(stream: string): Promise<number> {
    const connection = await connect({ servers: this.servers });
    try {
      const { cluster } = await (await connection.jetstreamManager()).streams.info(stream);
      return Math.max(
        0,
        this.nodes.findIndex(({ name }) => name === cluster?.leader),
      );
    } finally {
      await connection.close();
    }
  }

  get servers(): string[] {
    return this.nodes.map(({ port }) => `nats://127.0.0.1:${port}`);
  }

  connect(): Broker {
    const broker = new NatsBroker({
      servers: this.servers,
      name: `faults-${this.#brokers.length}`,
    });
    this.#brokers.push(broker);
    return broker;
  }

  takeDown(): void {
    throw new Error('one node at a time');
  }

  bringUp(): void {}

  async remove(): Promise<void> {
    await Promise.all(this.#brokers.map((broker) => broker.close()));
    await Promise.all(this.nodes.map((_, i) => this.stopNode(i)));
    rmSync(this.directory, { recursive: true, force: true });
  }
}
