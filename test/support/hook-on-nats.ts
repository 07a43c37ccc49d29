import type { ExecutionContext } from 'ava';
import { NatsBroker } from '../../broker/nats/index.js';
import type { RealServer } from '../broker/contract/server.js';
import { HookRig } from '../openwhisk-plugin/daemon/hook-rig.js';
import { gleaner, until } from './gleaner.js';

/**
 * A hook on a fake host, connected to a real nats-server, with a container whose limits Gleaner
 * changes.
 */
export async function hookOn(t: ExecutionContext, server: RealServer) {
  const rig = new HookRig();
  const broker = new NatsBroker({ servers: [server.url], name: 'hook' });
  await until(() => broker.connected, 5000, 'the hook is connected');
  await rig.start(broker);
  t.teardown(async () => {
    await rig.hook.stop();
    await broker.close();
  });
  await broker.flush();
  const host = () => rig.hook.figures().host;
  const cli = (...args: string[]) => gleaner(['--nats', server.url, ...args]);
  return { rig, broker, host, cli };
}
