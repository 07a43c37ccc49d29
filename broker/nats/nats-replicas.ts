import type { NatsConnection } from 'nats';
import { errorCodeOf } from './nats-errors.js';

/** Replicas of each store in a cluster: any one server may fail. */
const REPLICAS = 3;

/**
 * 10005: no suitable peers for placement; 10074: replicas > 1 not supported in non-clustered mode;
 * 10023: insufficient resources.
 */
const TOO_FEW_SERVERS: readonly unknown[] = [10005, 10023, 10074];

/**
 * Opens a store, and creates it with three replicas in a cluster, otherwise with one. An existing
 * store keeps its replicas (`nats stream edit --replicas` changes them).
 */
export async function replicated<T>(
  connection: NatsConnection,
  open: (replicas: number) => Promise<T>,
): Promise<T> {
  if (connection.info?.cluster === undefined) return open(1);
  try {
    return await open(REPLICAS);
  } catch (error) {
    if (!TOO_FEW_SERVERS.includes(errorCodeOf(error))) throw error;
    return open(1);
  }
}
