import { createConnection, type Socket } from 'node:net';
import type { ConnectionOptions, NatsConnection } from 'nats';
import { NatsConnectionImpl, setTransportFactory } from 'nats/lib/src/nats-base-client.js';
import { NodeTransport, nodeResolveHost } from 'nats/lib/src/node_transport.js';

interface Options extends ConnectionOptions {
  readonly stop: AbortSignal;
  readonly failed: (error: unknown) => void;
}

/**
 * The client's transport, which closes the socket of a failed attempt: `_closed()` of
 * src/node_transport.ts [nats.js] ignores a transport that has not connected, so that the socket
 * to a server that accepts and does not answer stays open and keeps the process alive.
 */
class ClosingTransport extends NodeTransport {
  override async connect(
    server: Parameters<NodeTransport['connect']>[0],
    options: ConnectionOptions,
  ): Promise<void> {
    const { stop, failed } = options as Options;
    stop.throwIfAborted();
    const end = (): void => void this.close();
    stop.addEventListener('abort', end);
    try {
      await super.connect(server, options);
    } catch (error) {
      failed(error);
      throw error;
    } finally {
      stop.removeEventListener('abort', end);
    }
  }

  /** Sets `socket` before it is connected, so that `close()` ends a connection that waits. */
  override dial({ hostname, port }: { hostname: string; port: number }): Promise<Socket> {
    return new Promise((resolve, reject) => {
      let failure: Error | undefined;
      const socket = createConnection({ host: hostname, port, noDelay: true }, () => {
        socket.removeAllListeners();
        resolve(socket);
      });
      this.socket = socket;
      socket.on('error', (error) => {
        failure = error;
      });
      socket.on('close', () => reject(failure));
    });
  }

  override async close(error?: Error): Promise<void> {
    await super.close(error);
    this.socket?.destroy();
  }
}

/**
 * As `connect` of the client. @param stop ends the attempt, or the one to connect again
 * @param failed gets the error of each attempt, which the client keeps to itself after a reconnect
 */
export function connectClosing(
  options: ConnectionOptions,
  stop: AbortSignal,
  failed: (error: unknown) => void,
): Promise<NatsConnection> {
  setTransportFactory({
    factory: () => new ClosingTransport(),
    dnsResolveFn: nodeResolveHost,
  });
  return NatsConnectionImpl.connect({ ...options, stop, failed } as Options);
}
