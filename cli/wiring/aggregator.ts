import { runAggregator } from '../../broker/index.js';
import type { Running } from '../child.js';
import { packageVersion } from '../version.js';
import { connectPart } from './broker.js';
import type { PartInputs } from './part.js';

export async function runAggregatorPart({
  config,
  logger,
  clock,
  timers,
  boot,
  hostName,
}: PartInputs): Promise<Running> {
  const broker = await connectPart(config.nats, 'aggregator');
  const { intervalMs, silentSteps } = config.aggregator;
  const aggregator = runAggregator({
    broker,
    clock,
    timers,
    intervalMs,
    silentSteps,
    host: hostName,
    boot,
    version: packageVersion(),
    logger,
  });
  return {
    stop: async () => {
      await aggregator.stop();
      await broker.close();
    },
  };
}
