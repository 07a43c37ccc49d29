import { type Broker, NatsBroker } from '../../broker/index.js';
import type { NatsConfig } from '../../config/index.js';

/** A broker that connects by itself and goes on trying; nothing waits for it. */
export function connectBroker(nats: NatsConfig, name: string): Broker {
  const credentials = nats.credentialsFile ?? nats.nkeySeedFile;
  return new NatsBroker({
    servers: nats.servers,
    name: `${nats.name}-${name}`,
    ...(credentials === null ? {} : { credentialsFile: credentials }),
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

/** As {@link connectBroker}, and waits a moment for the connection: a part that starts beside its server need not report it away. */
export async function connectPart(nats: NatsConfig, name: string): Promise<Broker> {
  const broker = connectBroker(nats, name);
  await new Promise<void>((resolve) => {
    const timer = setTimeout(done, SOON_MS);
    const cancel = broker.onStatus((status) => {
      if (status.kind === 'connected') done();
    });
    function done(): void {
      clearTimeout(timer);
      cancel();
      resolve();
    }
  });
  return broker;
}
