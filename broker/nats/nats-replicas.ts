import type { NatsConnection } from 'nats';
import { errorCodeOf } from './nats-errors.js';

/** Copies of each store in a cluster: any one server may be lost. */
const REPLICAS = 3;

/**
 * 10005: no suitable peers for placement; 10074: replicas > 1 not supported in non-clustered mode;
 * 10023: insufficient resources.
 */
const TOO_FEW_SERVERS: readonly unknown[] = [10005, 10023, 10074];

/**
 * Opens a store, and makes it with as many copies as the servers can keep: three in a cluster, else
 * one. A store that is there already keeps the copies it has (`nats stream edit --replicas` changes
 * them).
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
