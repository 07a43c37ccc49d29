import type { Cluster } from './cluster.js';
import { Fn } from './function-rows.js';

/**
 * Scales a function to a number of containers. An unmodified OpenWhisk can only cap them; the
 * simulator also creates missing ones, where the balancer would place them, and removes idle ones
 * after a fall. Busy ones finish first.
 */
export function scale(
  cluster: Cluster,
  fn: number,
  targetContainers: number,
  fell: boolean,
  now: number,
): void {
  const { containers, dispatch, invokers, functions, parts } = cluster;
  const { hosts } = parts.shape;
  dispatch.capAll(fn, targetContainers, now);
  const step = functions.get(fn, Fn.step);
  let host = functions.get(fn, Fn.home);
  for (let full = 0; full < hosts && containers.total(fn) < targetContainers; ) {
    if (cluster.alive(host) && invokers.provision(fn, host, now)) {
      cluster.refresh(host);
      full = 0;
    } else {
      full++;
      host = (host + step) % hosts;
    }
  }
  if (!fell) return;
  for (let each = 0; each < hosts && containers.total(fn) > targetContainers; each++) {
    for (
      let warm = containers.warm(fn, each);
      warm >= 0 && containers.total(fn) > targetContainers;
      warm = containers.warm(fn, each)
    ) {
      if (containers.columns.active[warm]! > 0) break;
      invokers.memoryAdmission.evict(warm, now);
    }
    cluster.refresh(each);
  }
}
