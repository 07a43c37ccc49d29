import type { Broker } from '../../broker/index.js';
import { killFile } from '../../openwhisk-plugin/daemon/index.js';
import { type FindHolds, holdsFrom } from '../../openwhisk-plugin/openwhisk-api/index.js';
import { inspectHooks } from '../hook-client.js';
import { plainText } from '../output.js';

interface HoldSettings {
  /** Null: NATS is not read. */
  readonly broker: Broker | null;
  /** The file of this machine's kill switch. */
  readonly killSwitch: string;
  /** When it is aborted, the check rejects. */
  readonly signal?: AbortSignal;
}

/** What holds changes of actions back, by hooks, NATS and this machine; reasons are printable. */
export function holdsOf({ broker, killSwitch, signal }: HoldSettings): FindHolds {
  const findHolds = holdsFrom({
    broker,
    // Nothing is expected, so that a hook that has just started has time to answer, too.
    inspectHooks: (from, fn) =>
      inspectHooks(from, { ...(fn !== null && { function: fn }), containers: 0, expected: [] }),
    killSwitch: { path: killSwitch, read: () => killFile(killSwitch) },
    signal,
  });
  return async (functions) => {
    const held = await findHolds(functions);
    return new Map([...held].map(([fn, reason]) => [fn, plainText(reason)]));
  };
}
