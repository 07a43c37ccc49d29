import { type Broker, type Logger, logStores } from '../broker/index.js';
import { NatsBroker } from '../broker/nats/index.js';
import type { NatsConfig } from '../config/index.js';

/** A broker that connects in the background and retries forever. */
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
 * As {@link connectBroker}, and waits a moment for the connection, so that a part that starts with
 * its server does not report it as unreachable. `logger`: for problems that an operator must fix;
 * null if the part reports them itself.
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
      // A refusal does not go away by waiting.
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
