import { type Broker, type BrokerStatus, type Logger, logStores } from '../broker/index.js';
import { NatsBroker } from '../broker/nats/index.js';
import type { NatsConfig } from '../config/index.js';

/** A broker that connects in the background and retries forever. */
export function connectBroker(nats: NatsConfig, name: string): Broker {
  return new NatsBroker({
    ...nats,
    name: `gleaner-${name}`,
    credentialsFile: nats.credentialsFile ?? nats.nkeySeedFile,
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
  await firstStatus(broker, SOON_MS);
  return broker;
}

/** Waits until the broker is connected or refused; null if neither happens in time. */
export function firstStatus(
  broker: Broker,
  timeoutMillis: number,
): Promise<Exclude<BrokerStatus, { kind: 'disconnected' }> | null> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => finish(null), timeoutMillis);
    const cancel = broker.onStatus((status) => {
      if (status.kind !== 'disconnected') finish(status);
    });
    function finish(status: Parameters<typeof resolve>[0]): void {
      clearTimeout(timer);
      cancel();
      resolve(status);
    }
  });
}
