import {
  type Broker,
  type BrokerStatus,
  BrokerUnreachableError,
  type Logger,
  logConnection,
  logStores,
  serverList,
} from '../broker/index.js';
import { NatsBroker } from '../broker/nats/index.js';
import { type Config, errorClass, type GleanerError, type NatsConfig } from '../config/index.js';
import { readUpState } from './running-up.js';
import { statePaths } from './settings.js';

/** A broker that connects in the background and retries forever. */
export function connectBroker(nats: NatsConfig, name: string): Broker {
  return new NatsBroker({
    ...nats,
    name: `gleaner-${name}`,
    credentialsFile: nats.credentialsFile ?? nats.nkeySeedFile,
  });
}

const SOON_MS = 1000;

/** Where a part's connection is logged, and what the part does while it is lost. */
export interface ConnectionLog {
  readonly logger: Logger;
  readonly whileAway: string;
}

/**
 * As {@link connectBroker}, and waits a moment for the connection, so that a part that starts with
 * its server does not report it as unreachable. `log`: null if the part logs it itself.
 *
 * @throws `GLN_NATS_NOT_CONFIGURED` without servers: it would try forever
 */
export async function connectPart(
  nats: NatsConfig,
  name: string,
  log: ConnectionLog | null,
): Promise<Broker> {
  if (nats.servers.length === 0) throw new NotConfiguredError(name);
  const broker = connectBroker(nats, name);
  await firstStatus(broker, SOON_MS);
  if (log !== null) {
    logConnection(broker, log.logger, log.whileAway);
    logStores(broker.stores, log.logger);
  }
  return broker;
}

class NotConfiguredError extends errorClass('GLN_NATS_NOT_CONFIGURED') {}

/** Waits until the broker is connected or refused; null if neither happens in time. */
function firstStatus(
  broker: Broker,
  timeoutMillis: number,
): Promise<Extract<BrokerStatus, { kind: 'connected' | 'error' }> | null> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => finish(null), timeoutMillis);
    const cancel = broker.onStatus((status) => {
      if (status.kind === 'connected' || status.kind === 'error') finish(status);
    });
    function finish(status: Parameters<typeof resolve>[0]): void {
      clearTimeout(timer);
      cancel();
      resolve(status);
    }
  });
}

class NoServersError extends errorClass('GLN_NATS_UNKNOWN') {}

/** Configured servers, else those of the `gleaner up` that uses the same state folder. */
export function serversOf(config: Config): readonly string[] {
  if (config.nats.servers.length > 0) return config.nats.servers;
  const { running, folder } = statePaths(config);
  const up = readUpState(running);
  if (up === null) throw new NoServersError(folder);
  return up.servers;
}

/** A person waits for it: servers on the same network answer within milliseconds. */
const CONNECT_MILLIS = 2000;

/** Runs one question over NATS and closes the connection, whatever happens. */
export async function withBroker<T>(
  config: Config,
  ask: (broker: Broker) => Promise<T>,
  timeoutMillis = CONNECT_MILLIS,
): Promise<T> {
  const servers = serversOf(config);
  const broker = connectBroker({ ...config.nats, servers: [...servers] }, 'cli');
  try {
    const status = await firstStatus(broker, timeoutMillis);
    if (status === null)
      throw new NatsUnavailableError(servers, `no answer within ${timeoutMillis} ms`);
    if (status.kind === 'error') throw natsUnavailableError(servers, status.error);
    return await ask(broker);
  } finally {
    await broker.close();
  }
}

class NatsUnavailableError extends errorClass('GLN_NATS_AWAY') {
  constructor(servers: readonly string[], reason: string, cause?: unknown) {
    super(serverList(servers), reason, cause);
  }
}

/** The same failure as one command meets it: nothing here connects again by itself. */
const natsUnavailableError = (servers: readonly string[], error: GleanerError): GleanerError =>
  error instanceof BrokerUnreachableError
    ? new NatsUnavailableError(servers, error.reason, error)
    : error;
