import { buckets } from '../../broker/index.js';
import type { NatsCluster } from './nats-cluster.js';
import { acceptedBy, World } from './world/world.js';

export interface RollingResult {
  /**
   * From the loss of a node until every hook had taken a target that answers what it observed
   * since; ms.
   */
  readonly resumed: { readonly what: string; readonly after: number }[];
  readonly activations: number;
  readonly lowered: number;
  readonly problems: string[];
}

/** Length of a mean-field step: the product's default. */
export const INTERVAL = 10_000;

/** Waits until every host's hook takes a target again that was sent after now; ms. */
async function resumed(world: World, most: number): Promise<number> {
  const begun = performance.now();
  const before = world.hosts.map(acceptedBy);
  // What was on its way comes within a moment: only what comes afterwards counts.
  await world.pass(300);
  const base = world.hosts.map(acceptedBy);
  while (world.hosts.some((host, i) => acceptedBy(host) <= base[i]!)) {
    if (performance.now() - begun > most)
      throw new Error(`no decisions for ${most} ms (${before} -> ${base})`);
    await world.pass(50);
  }
  return performance.now() - begun;
}

/**
 * Kills each of `kills` in turn and starts it again (`leader`: whichever leads the leases, the
 * worst to lose), then restarts every node one after the other in good order, while two invoker
 * hosts are called all the time.
 */
export async function playRolling(
  cluster: NatsCluster,
  kills: readonly (number | 'leader')[],
  restarts: readonly number[],
): Promise<RollingResult> {
  const world = new World(1, { net: cluster, interval: INTERVAL });
  const found: RollingResult['resumed'] = [];
  try {
    await world.start();
    await resumed(world, 60_000);
    for (const which of kills) {
      const node = which === 'leader' ? await cluster.leaderOf(`KV_${buckets.leases}`) : which;
      await cluster.kill(node);
      found.push({ what: `node ${node + 1} killed`, after: await resumed(world, 60_000) });
      await cluster.up(node);
      await Promise.all([cluster.whole(), world.pass(500)]);
    }
    for (const node of restarts) {
      await cluster.stopNode(node);
      const [after] = await Promise.all([resumed(world, 60_000), cluster.up(node)]);
      found.push({ what: `node ${node + 1} restarted`, after });
      await Promise.all([cluster.whole(), world.pass(500)]);
    }
    for (const host of world.hosts) host.calling = false;
    for (let i = 0; i < 20 && world.hosts.some((host) => host.running > 0); i++)
      await world.pass(500);
    const problems = [...world.problems, ...world.hosts.flatMap((host) => host.problems)];
    const activations = world.hosts.reduce((sum, { activations }) => sum + activations, 0);
    const lowered = world.hosts.reduce((sum, host) => sum + host.lowered, 0);
    return { resumed: found, activations, lowered, problems };
  } finally {
    await world.stop();
  }
}
