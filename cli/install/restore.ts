import { existsSync } from 'node:fs';
import { type Config, reportProblem } from '../../config/index.js';
import { engineLockPath, HookLock } from '../../openwhisk-plugin/host/lock/index.js';
import { authorOfRestore, type RestoreSettings, restoreHost } from '../../runtime/wiring/index.js';

/**
 * Restores the user limits of this host's containers on each engine whose socket exists. Rejects
 * with `GLN_HOOK_LOCKED` while a hook runs.
 */
export async function restoreWhereEnginesAre(
  { error, places }: RestoreSettings,
  author: string,
): Promise<{ readonly notRestored: readonly string[] }> {
  const notRestored: string[] = [];
  for (const { config } of places) {
    const { engineSocket } = config.hook;
    if (existsSync(engineSocket)) notRestored.push(...(await restored(config, author)));
    else if (error !== null)
      reportProblem(
        `no limit is restored on ${engineSocket}, which does not exist`,
        'limits of another engine stay until their containers end',
      );
  }
  return { notRestored };
}

async function restored(config: Config, author: string): Promise<readonly string[]> {
  const { engineSocket, stateDir } = config.hook;
  const lock = await HookLock.acquire(engineLockPath(engineSocket, stateDir));
  try {
    const by = authorOfRestore(author, 'removed', process.env);
    return (await restoreHost(config, by)).notRestored;
  } finally {
    lock.release();
  }
}
