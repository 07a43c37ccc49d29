import { type Broker, type Logger, logStores } from '../broker/index.js';
import { NatsBroker } from '../broker/nats/index.js';
import type { NatsConfig } from '../config/index.js';

/** A broker that connects by itself and goes on trying; nothing waits for it. */
export function connectBroker(nats: NatsConfig, name: string): Broker {
  const credentials = nats.credentialsFile ?? nats.nkeySeedFile;
  return new NatsBroker({
    servers: nats.servers,
    name: `gleaner-${name}`,
    ...(credentials === null ? {} : { credentialsFile: credentials }),
    ...(nats.inboxPrefix === null ? {} : { inboxPrefix: nats.inboxPrefix }),
    ...(nats.caFile === null && nats.certFile === null
      ? {}
      : {
          tls: {
            ...(nats.caFile === null ? {} : { caFile: nats.caFile }),
            ...(nats.certFile === null ? {} : { certFile: nats.certFile }),
            ...(nats.keyFile === null ? {} : { keyFile: nats.keyFile }),
          },
        }),
  });
}

const SOON_MS = 1000;

/**
 * As {@link connectBroker}, and waits a moment for the connection: a part that starts beside its
 * server need not report it away. `logger`: told of what an operator must mend; null where the part
 * tells of it itself.
 */
export async function connectPart(
  nats: NatsConfig,
  name: string,
  logger: Logger | null,
): Promise<Broker> {
  const broker = connectBroker(nats, name);
  if (logger !== null) {
    broker.onStatus((status) => {
      if (status.kind === 'error')
        logger.error({ code: status.error.code, hint: status.error.hint }, status.error.message);
    });
    logStores(broker.stores, logger);
  }
  await new Promise<void>((resolve) => {
    const timer = setTimeout(done, SOON_MS);
    const cancel = broker.onStatus((status) => {
      // What refuses us now will refuse us in a moment, too.
      if (status.kind !== 'disconnected') done();
    });
    function done(): void {
      clearTimeout(timer);
      cancel();
      resolve();
    }
  });
  return broker;
}
