import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

export interface SilentListener {
  readonly url: string;
  /** Connections that the other end has not closed. */
  readonly open: ReadonlySet<Socket>;
  /** All so far. */
  accepted(): number;
  close(): void;
}

/** Accepts connections and writes nothing, as a stopped nats-server does. */
export async function silentListener(
  accept: (socket: Socket) => void = () => {},
): Promise<SilentListener> {
  const open = new Set<Socket>();
  let accepted = 0;
  const server = createServer((socket) => {
    accepted++;
    open.add(socket);
    socket.resume();
    socket.on('error', () => {}).on('close', () => open.delete(socket));
    accept(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `nats://127.0.0.1:${(server.address() as AddressInfo).port}`,
    open,
    accepted: () => accepted,
    close: () => {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}
