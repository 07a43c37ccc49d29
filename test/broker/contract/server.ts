import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LaunchedServer, launchNatsServer } from '../../../bench/nats-server.js';
import type { Broker } from '../../../broker/index.js';
import { NatsBroker } from '../../../broker/nats/index.js';
import { until } from './harness.js';

export const NATS_BINARY = process.env.GLEANER_NATS_SERVER ?? 'nats-server';

/**
 * Whether a nats-server is here. CI must have one; elsewhere its absence is said loudly and the
 * test passes.
 */
export function natsServerHere(): boolean {
  if (spawnSync(NATS_BINARY, ['--version']).status === 0) return true;
  if (process.env.CI) throw new Error('nats-server is missing, and this is CI');
  console.error('*** nats-server is missing: the tests on real NATS did not run ***');
  return false;
}

/**
 * A real nats-server for a test file, which can be taken down and up on the same port with the same
 * store.
 */
export class RealServer {
  readonly directory = mkdtempSync(join(tmpdir(), 'gleaner-test-nats-'));
  #server: LaunchedServer | null = null;
  readonly #brokers: Broker[] = [];
  #port = -1;

  get url(): string {
    return `nats://127.0.0.1:${this.#port}`;
  }

  get pid(): number {
    return this.#server!.pid;
  }

  async up(args: readonly string[] = []): Promise<void> {
    this.#server = await launchNatsServer({
      binary: NATS_BINARY,
      storeDirectory: join(this.directory, 'js'),
      port: this.#port,
      args,
    });
    this.#port = this.#server.port;
  }

  async down(): Promise<void> {
    await this.#server?.stop();
    this.#server = null;
  }

  async connect(name = 'test'): Promise<Broker> {
    const broker = new NatsBroker({ servers: [this.url], name });
    this.#brokers.push(broker);
    await until(() => broker.connected, 'first connect');
    return broker;
  }

  /** For a test's teardown: also what a failed test left open must not keep the process alive. */
  async remove(): Promise<void> {
    await Promise.all(this.#brokers.map((broker) => broker.close()));
    await this.down();
    rmSync(this.directory, { recursive: true, force: true });
  }
}
