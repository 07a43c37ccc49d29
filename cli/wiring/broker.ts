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
