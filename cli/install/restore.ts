import { existsSync } from 'node:fs';
import type { Config } from '../../config/index.js';
import { engineLockPath, HookLock } from '../../openwhisk-plugin/host/lock/index.js';
import { authorOfRestore, restoreHost } from '../../runtime/wiring/index.js';

/**
 * Restores the user limits of this host's containers. Does nothing without an engine's socket.
 * Rejects with `GLN_HOOK_LOCKED` while a hook runs.
 */
export async function restoreWhereEngineIs(
  config: Config,
  author: string,
): Promise<{ readonly notRestored: readonly string[] }> {
  const { engineSocket, stateDir } = config.hook;
  if (!existsSync(engineSocket)) return { notRestored: [] };
  const lock = await HookLock.acquire(engineLockPath(engineSocket, stateDir));
  try {
    return await restoreHost(config, authorOfRestore(author, 'removed', process.env));
  } finally {
    lock.release();
  }
}
