import { isLoopback, parseListen } from '../../broker/http/index.js';
import { type Config, programVersion, systemClock, systemTimers } from '../../config/index.js';
import {
  DashboardPortError,
  type RunningDashboard,
  runDashboard,
  Token,
} from '../../dashboard/index.js';
import { connectPart, serversOf } from '../broker.js';
import type { Running } from '../child.js';
import type { makeLogger } from '../logger.js';

/** Bounds the memory of the dashboard; the least recently active function is evicted first. */
const FUNCTIONS_MAX = 5000;

/**
 * `anyPort`: if the configured port is in use, any free one is used (`gleaner up`, so that two can
 * run). Rejects `GLN_DASHBOARD_TOKEN` before anything is opened.
 */
export async function runDashboardPart(
  config: Config,
  logger: ReturnType<typeof makeLogger>,
  anyPort: boolean,
): Promise<Running & { readonly address: string }> {
  const { tokenFile, hosts } = config.dashboard;
  const token = tokenFile === null ? null : Token.read(tokenFile);
  const { host, port } = parseListen(config.dashboard.listen ?? '127.0.0.1:0');
  const broker = await connectPart(
    { ...config.nats, servers: [...serversOf(config)] },
    'dashboard',
    { logger, whileAway: 'the page shows the state of this time' },
  );
  const start = (at: number): Promise<RunningDashboard> =>
    runDashboard({
      broker,
      clock: systemClock,
      timers: systemTimers,
      host,
      port: at,
      hosts,
      token,
      maxFunctions: FUNCTIONS_MAX,
      version: programVersion(),
      logger,
    });
  let dashboard: RunningDashboard;
  try {
    dashboard = await start(port).catch((error: unknown) => {
      if (anyPort && error instanceof DashboardPortError && port !== 0) return start(0);
      throw error;
    });
  } catch (error) {
    await broker.close();
    throw error;
  }
  logger.info({ address: dashboard.address }, `dashboard on ${dashboard.address}`);
  if (!isLoopback(host))
    logger.warn('the dashboard is open to the network, and reading needs no login');
  return {
    address: dashboard.address,
    stop: async () => {
      await dashboard.stop();
      await broker.close();
    },
  };
}
