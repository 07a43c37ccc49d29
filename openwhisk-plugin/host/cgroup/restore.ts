import { type Bytes, messageOf } from '../../../config/index.js';
import {
  type ContainerInfo,
  emptyLimits,
  type LimitHandle,
  type LimitWriter,
} from '../ports/index.js';
import { CgroupNotFoundError } from './cgroup-errors.js';

interface ContainerListing {
  snapshot(): Promise<readonly ContainerInfo[]>;
}

type RestoredContainer = NonNullable<Awaited<ReturnType<typeof restoreUserLimits>>>;

export interface RestoreReport {
  readonly restored: readonly RestoredContainer[];
  readonly failed: readonly { readonly container: ContainerInfo; readonly error: Error }[];
}

/**
 * Restores the user limits of every managed container, as its engine shows them. Skips containers
 * that end meanwhile. Rejects with a GleanerError if the engine does not answer.
 */
export async function restoreAll(parts: {
  engine: ContainerListing;
  writer: LimitWriter;
}): Promise<RestoreReport> {
  const restored: RestoredContainer[] = [];
  const failed: { container: ContainerInfo; error: Error }[] = [];
  const containers = await parts.engine.snapshot();
  const fail = (container: ContainerInfo, error: unknown): void => {
    if (error instanceof CgroupNotFoundError) return;
    failed.push({ container, error: error instanceof Error ? error : new Error(messageOf(error)) });
  };
  // All are opened first: unchanged containers show the writer the runtime's weights on this host.
  const handles: { container: ContainerInfo; handle: LimitHandle }[] = [];
  for (const container of containers) {
    try {
      handles.push({ container, handle: parts.writer.open(container) });
    } catch (error) {
      fail(container, error);
    }
  }
  await Promise.all(
    handles.map(async ({ container, handle }) => {
      try {
        const result = await restoreUserLimits(container, handle);
        if (result) restored.push(result);
      } catch (error) {
        fail(container, error);
      }
    }),
  );
  // Open until systemd is done: what it undoes is written again.
  await parts.writer.settled?.();
  for (const { handle } of handles) handle.close();
  return { restored, failed };
}

/**
 * One container, over a handle that stays its owner's. Null: the container ended. Memory in use
 * above the user's limit stays (`refused`): taking a loan back would kill.
 */
async function restoreUserLimits(container: ContainerInfo, handle: LimitHandle) {
  const before = emptyLimits();
  const after = emptyLimits();
  if (!handle.read(before)) return null;
  const { user } = container;
  const shares = handle.setShares(user.shares);
  const quota = handle.setQuota(user.quota);
  const isHigher = user.memory !== 0 && (before.memory === 0 || before.memory > user.memory);
  // Equal limits go the way of a raise too: it puts swap right and takes back a lowering that is on
  // its way.
  const memory = isHigher ? await handle.lowerMemory(user.memory) : handle.raiseMemory(user.memory);
  const protection = handle.protectMemory(0 as Bytes);
  if (!handle.read(after)) return null;
  return { container, before, after, shares, quota, memory, protection };
}
