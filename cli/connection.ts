import { readFileSync } from 'node:fs';
import type { Broker } from '../broker/index.js';
import { type Config, GleanerError, millis } from '../config/index.js';
import { statePaths } from './settings.js';
import { connectBroker } from './wiring/broker.js';

export class NoServersError extends GleanerError {
  readonly code = 'GLN_NATS_UNKNOWN';
  constructor(folder: string) {
    super(`no NATS servers are configured, and no \`gleaner up\` runs with the state folder ${folder}`, {
      hint: 'name the configuration of the one that runs (--config FILE or GLEANER_CONFIG; of `npm start` it is config/demo.yaml), or give --nats URL',
    });
  }
}

/** Configured servers, else those of the `gleaner up` that uses the same state folder. */
export function serversOf(config: Config): readonly string[] {
  if (config.nats.servers.length > 0) return config.nats.servers;
  const { running, folder } = statePaths(config);
  try {
    const { servers } = JSON.parse(readFileSync(running, 'utf8')) as { servers?: unknown };
    if (Array.isArray(servers) && servers.every((server) => typeof server === 'string')) return servers;
  } catch {
    // No file: nothing runs here.
  }
  throw new NoServersError(folder);
}

/** Runs one question over NATS and closes the connection, whatever happens. */
export async function withBroker<T>(config: Config, ask: (broker: Broker) => Promise<T>): Promise<T> {
  const broker = connectBroker({ ...config.nats, servers: [...serversOf(config)] }, 'cli');
  try {
    await connected(broker, config.nats.requestTimeoutMs);
    return await ask(broker);
  } finally {
    await broker.close();
  }
}

export class NatsAwayError extends GleanerError {
  readonly code = 'GLN_NATS_AWAY';
  constructor(afterMs: number, cause?: unknown) {
    super(`no connection to NATS within ${afterMs} ms`, {
      cause,
      hint: 'is it running? The kill switch works without it: `gleaner restore --local` on the invoker host',
    });
  }
}

function connected(broker: Broker, timeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => finish(() => reject(new NatsAwayError(timeoutMs))), millis(timeoutMs));
    const cancel = broker.onStatus((status) => {
      if (status.kind === 'connected') finish(resolve);
      else if (status.kind === 'error') finish(() => reject(status.error));
    });
    function finish(act: () => void): void {
      clearTimeout(timer);
      cancel();
      act();
    }
  });
}
