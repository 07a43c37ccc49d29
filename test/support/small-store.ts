import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, type JetStreamManager, type NatsConnection } from 'nats';
import type { RealServer } from '../broker/contract/server.js';

/** Starts the server with a JetStream store of this size. */
export async function startWithStore(server: RealServer, size = '2MB'): Promise<void> {
  const file = join(server.directory, 'small.conf');
  writeFileSync(file, `jetstream { max_file_store: ${size}, max_memory_store: 1MB }\n`);
  await server.up(['-c', file]);
}

/** A client of another program, as an administrator has it. */
export class Admin {
  readonly connection: NatsConnection;
  readonly manager: JetStreamManager;

  private constructor(connection: NatsConnection, manager: JetStreamManager) {
    this.connection = connection;
    this.manager = manager;
  }

  static async connect(server: RealServer): Promise<Admin> {
    const connection = await connect({ servers: server.url });
    return new Admin(connection, await connection.jetstreamManager());
  }

  /** Another program's stream takes all that is left of the store. */
  async fill(): Promise<void> {
    await this.manager.streams.add({ name: 'OTHER', subjects: ['other.>'] });
    const client = this.connection.jetstream();
    for (const size of [60_000, 4_000, 200]) {
      try {
        for (;;) await client.publish('other.x', new Uint8Array(size));
      } catch {
        // A smaller record may still fit.
      }
    }
  }

  async freeSpace(): Promise<void> {
    await this.manager.streams.delete('OTHER');
  }

  /**
   * A bucket as nats-server#6141 describes it: with one message per key and
   * `discard_new_per_subject` every further write of a key is refused, while new keys are taken.
   */
  async refuseChanges(bucket: string): Promise<void> {
    const name = `KV_${bucket}`;
    const { config } = await this.manager.streams.info(name);
    await this.manager.streams.update(name, {
      ...config,
      discard: 'new',
      discard_new_per_subject: true,
    } as typeof config);
  }

  async allowChanges(bucket: string): Promise<void> {
    const name = `KV_${bucket}`;
    const { config } = await this.manager.streams.info(name);
    await this.manager.streams.update(name, {
      ...config,
      discard_new_per_subject: false,
    } as typeof config);
  }

  close(): Promise<void> {
    return this.connection.close();
  }
}
