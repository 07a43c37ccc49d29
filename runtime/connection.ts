import { readFileSync } from 'node:fs';
import { type Broker, BrokerUnreachableError, serverList } from '../broker/index.js';
import { type Config, errorClass, type GleanerError, millis } from '../config/index.js';
import { connectBroker } from './broker.js';
import { statePaths } from './settings.js';

class NoServersError extends errorClass('GLN_NATS_UNKNOWN') {}

/** Configured servers, else those of the `gleaner up` that uses the same state folder. */
export function serversOf(config: Config): readonly string[] {
  if (config.nats.servers.length > 0) return config.nats.servers;
  const { running, folder } = statePaths(config);
  try {
    const { servers } = JSON.parse(readFileSync(running, 'utf8')) as { servers?: unknown };
    if (Array.isArray(servers) && servers.every((server) => typeof server === 'string'))
      return servers;
  } catch {
    // No file: nothing runs here.
  }
  throw new NoServersError(folder);
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
    await connected(broker, servers, timeoutMillis);
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

function connected(broker: Broker, servers: readonly string[], timeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const late = (): void =>
      reject(new NatsUnavailableError(servers, `no answer within ${timeoutMs} ms`));
    const timer = setTimeout(() => finish(late), millis(timeoutMs));
    const cancel = broker.onStatus((status) => {
      if (status.kind === 'connected') finish(resolve);
      else if (status.kind === 'error')
        finish(() => reject(natsUnavailableError(servers, status.error)));
    });
    function finish(act: () => void): void {
      clearTimeout(timer);
      cancel();
      act();
    }
  });
}
