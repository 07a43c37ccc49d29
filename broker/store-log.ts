import type { Cancel } from '../config/index.js';
import type { Logger } from './logger.js';
import type { StoreHealth, StoreOperation } from './store-health.js';
import { buckets, objectStores, streams } from './subjects.js';

const WITHOUT_LEASES =
  'no targets and no mean field are sent, and user limits and local policies apply';
const CONSEQUENCES: Readonly<Record<string, Partial<Record<StoreOperation, string>>>> = {
  [buckets.leases]: {
    read: `no lease can be taken: ${WITHOUT_LEASES}`,
    write: `leases are not renewed: ${WITHOUT_LEASES}`,
  },
  [buckets.mode]: {
    read: 'changes of mode and pauses are not seen; the last ones apply',
    write: 'changes of mode and pauses are not stored: hooks that restart do not know them',
  },
  [buckets.functions]: { write: 'the list of functions in NATS is out of date' },
  [buckets.actions]: {
    read: 'changes of annotations are not seen; the last ones apply',
    write: 'changes of annotations do not reach hooks and agent hosts',
  },
  [buckets.policy]: {
    read: 'changes of policy parameters are not seen; the last ones apply',
    write: 'new policy parameters do not reach hooks, which keep the last ones',
  },
  [objectStores.policies]: {
    read: 'saved agents cannot be loaded: they go on from what their host has, or the base policy',
    write: 'what agents learn is not stored: it is lost when their host restarts',
  },
  [streams.trajectories]: { write: 'steps of agents are not recorded' },
};

export const consequenceOf = (store: string, operation: StoreOperation): string =>
  CONSEQUENCES[store]?.[operation] ??
  `${operation === 'read' ? 'reads from' : 'writes to'} ${store} fail`;

export function logStores(stores: StoreHealth, logger: Logger): Cancel {
  return stores.onEpisode(({ store, operation, error, failure }) => {
    if (error !== null) {
      const { code, hint } = error;
      const consequence = consequenceOf(store, operation);
      logger.error(
        { event: 'store_failing', store, operation, code, hint, consequence },
        error.message,
      );
      return;
    }
    const lastedSeconds = Math.round(failure.lasting / 100) / 10;
    const { count: failures, code } = failure;
    logger.info(
      { event: 'store_recovered', store, operation, failures, lastedSeconds, code },
      `${store}: ${operation}s succeed again`,
    );
  });
}
