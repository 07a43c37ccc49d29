import type { ContainerListing } from '../../../../openwhisk-plugin/host/cgroup/restore.js';
import type { ContainerInfo } from '../../../../openwhisk-plugin/host/ports/index.js';

/** An engine that lists these containers, of which only those in `running` run when asked again. */
export const listed = (
  containers: readonly ContainerInfo[],
  running = containers,
): ContainerListing => ({
  list: async () => ({ containers, unreadable: [], unlisted: 0 }),
  inspect: async (id) => running.find((one) => one.id === id) ?? null,
});
