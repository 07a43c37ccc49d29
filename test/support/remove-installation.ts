import { type Layout, remove, restoreWhereEngineIs } from '../../cli/install/index.js';
import { loadSettings } from '../../runtime/index.js';

/**
 * As `gleaner remove` on this host, which restores the user limits: with another root the command
 * touches no container.
 */
export async function removeInstallation(layout: Layout): Promise<void> {
  const { config } = loadSettings({ config: layout.at(layout.config) });
  await remove({
    layout,
    services: null,
    keepConfig: false,
    changedActions: null,
    restore: () => restoreWhereEngineIs(config, 'test'),
  });
}
