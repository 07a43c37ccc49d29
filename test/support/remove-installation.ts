import { type Layout, remove, restoreWhereEnginesAre } from '../../cli/install/index.js';
import { settingsForRestore } from '../../runtime/wiring/index.js';

/**
 * As `gleaner remove` on this host, which restores the user limits: with another root the command
 * touches no container.
 */
export async function removeInstallation(layout: Layout): Promise<void> {
  const settings = settingsForRestore({ config: layout.at(layout.config) });
  await remove({
    layout,
    services: null,
    keepConfig: false,
    changedActions: null,
    restore: () => restoreWhereEnginesAre(settings, 'test'),
  });
}
