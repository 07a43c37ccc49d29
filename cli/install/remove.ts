import { existsSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { errorClass } from '../../config/index.js';
import { LimitsNotRestoredError } from '../../openwhisk-plugin/host/cgroup/index.js';
import { shortList } from '../../runtime/index.js';
import { type Layout, unitOf } from './layout.js';
import { requireManifest } from './manifest.js';
import type { ServiceManager } from './service-manager.js';

/** OpenWhisk has limits written by Gleaner, and only the local journal has the original ones. */
class ActionsNotUndoneError extends errorClass('GLN_ACTIONS_NOT_UNDONE') {
  constructor(actions: readonly string[]) {
    super(actions.length, shortList(actions));
  }
}

export interface RemoveOptions {
  readonly layout: Layout;
  readonly services: ServiceManager | null;
  /** Leaves configuration, seeds and certificates. */
  readonly keepConfig: boolean;
  /** Actions with limits changed by Gleaner; throws if unknown. Null: keep them. */
  readonly changedActions: (() => readonly string[]) | null;
  /** Restores the user limits of every container. */
  readonly restore: () => Promise<{ readonly notRestored: readonly string[] }>;
}

/**
 * Removes Gleaner from a host: stops its services, restores user limits, then deletes files.
 * Rejects with `GLN_LIMITS_NOT_RESTORED` or `GLN_ACTIONS_NOT_UNDONE` before anything is deleted, so
 * that it can be repeated. @returns the deleted paths
 */
export async function remove({
  layout,
  services,
  keepConfig,
  changedActions,
  restore,
}: RemoveOptions): Promise<readonly string[]> {
  const { at } = layout;
  const manifest = requireManifest(layout);
  services?.disable(manifest.parts.map(unitOf));
  if (manifest.parts.includes('hook')) {
    const { notRestored } = await restore();
    if (notRestored.length > 0) throw new LimitsNotRestoredError(shortList(notRestored));
  }
  const changed = changedActions?.() ?? [];
  if (changed.length > 0) throw new ActionsNotUndoneError(changed);
  const units = Object.keys(manifest.files);
  const removed = [
    ...units,
    layout.command,
    layout.state,
    ...(keepConfig ? [] : [layout.configFolder]),
    layout.home,
  ];
  const there = removed.filter((path) => existsSync(at(path)) || path === layout.command);
  for (const path of there) rmSync(at(path), { recursive: true, force: true });
  for (const folder of new Set(units.map((path) => at(dirname(path)))))
    removeEmpty(folder, at(layout.units));
  services?.reload();
  return there;
}

/** Deletes a folder of drop-ins unless it holds other drop-ins. */
function removeEmpty(folder: string, except: string): void {
  if (folder === except || !existsSync(folder) || readdirSync(folder).length > 0) return;
  rmdirSync(folder);
}
