import { type Bytes, messageOf } from '../../../config/index.js';
import {
  type ContainerInfo,
  emptyLimits,
  type LimitHandle,
  type LimitWriter,
  type Listing,
} from '../ports/index.js';

/** The running containers of an engine. */
export interface ContainerListing {
  list(also: ReadonlySet<string>): Promise<Listing>;
  inspect(id: string): Promise<ContainerInfo | 'unreadable' | null>;
}

type RestoredContainer = NonNullable<Awaited<ReturnType<typeof restoreUserLimits>>>;

export interface RestoreReport {
  /** Every container whose limits were read, changed or not. */
  readonly restored: readonly RestoredContainer[];
  /** Running containers that could not be examined. */
  readonly failed: readonly {
    readonly container: Pick<ContainerInfo, 'id' | 'name'>;
    readonly error: Error;
  }[];
  /** Entries of the engine's list without a readable id. */
  readonly unlisted: number;
}

/**
 * Restores the user limits of every managed container, as its engine shows them. Skips containers
 * that end meanwhile, by the engine's answer. Rejects with a GleanerError if the engine does not
 * answer.
 * @param also ids of containers to restore under any name
 */
export async function restoreAll(
  { engine, writer }: { engine: ContainerListing; writer: LimitWriter },
  also: ReadonlySet<string> = new Set(),
): Promise<RestoreReport> {
  const restored: RestoredContainer[] = [];
  const failed: { container: Pick<ContainerInfo, 'id' | 'name'>; error: Error }[] = [];
  const fail = (container: Pick<ContainerInfo, 'id' | 'name'>, error: unknown): void => {
    failed.push({ container, error: error instanceof Error ? error : new Error(messageOf(error)) });
  };
  const { containers, unreadable, unlisted } = await engine.list(also);
  for (const id of unreadable)
    fail({ id, name: id.slice(0, 12) }, "the engine's answer about it cannot be read");
  // What cannot be found here may run all the same: without the host's pids, say. A container that
  // started again has new cgroups, with its user limits.
  const failIfRunning = async (container: ContainerInfo, error: unknown): Promise<void> => {
    const now = await engine.inspect(container.id).catch(() => 'unreadable' as const);
    if (now === 'unreadable' || now?.startedAt === container.startedAt) fail(container, error);
  };
  // All are opened first: unchanged containers show the writer the runtime's weights on this host.
  const handles: { container: ContainerInfo; handle: LimitHandle }[] = [];
  for (const container of containers) {
    try {
      handles.push({ container, handle: writer.open(container) });
    } catch (error) {
      await failIfRunning(container, error);
    }
  }
  await Promise.all(
    handles.map(async ({ container, handle }) => {
      try {
        const result = await restoreUserLimits(container, handle);
        if (result) restored.push(result);
        else await failIfRunning(container, 'its cgroup cannot be read');
      } catch (error) {
        fail(container, error);
      }
    }),
  );
  // Open until systemd is done: what it undoes is written again.
  if (handles.length > 0) await writer.settled?.();
  for (const { handle } of handles) handle.close();
  return { restored, failed, unlisted };
}

/** A running container that does not have its user limits, or may not have them. */
export interface Unrestored {
  readonly id: string;
  readonly name: string;
  readonly reason: string;
}

const LIMITS = ['shares', 'quota', 'memory', 'protection'] as const;

/** What a restore left undone, container by container. */
export function unrestored({ restored, failed }: RestoreReport): Unrestored[] {
  const found = failed.map(({ container: { id, name }, error }) => ({
    id,
    name,
    reason: error.message,
  }));
  for (const { container, ...results } of restored) {
    const reasons = LIMITS.filter((limit) => results[limit] === 'not_effective').map(
      (limit) => `${limit}: the kernel has another value`,
    );
    for (const limit of LIMITS)
      if (results[limit] === 'refused')
        reasons.push(limit === 'memory' ? 'its loan of memory is in use' : `${limit}: refused`);
    const { id, name } = container;
    if (reasons.length > 0) found.push({ id, name, reason: reasons.join(', ') });
  }
  return found;
}

/**
 * One container, over a handle that stays its owner's. Null: its cgroup is gone. Memory in use
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
