import { runAggregator } from '../../broker/mean-field/index.js';
import { programVersion } from '../../config/index.js';
import { connectPart } from '../broker.js';
import type { Running } from '../child.js';
import { operatorCheck, pausedText, updateAggregator } from '../metrics/index.js';
import { processFaults } from '../process-faults.js';
import type { PartInputs } from './part.js';

export async function runAggregatorPart({
  config,
  logger,
  clock,
  timers,
  boot,
  hostName,
  operating,
}: PartInputs): Promise<Running> {
  const broker = await connectPart(config.nats, 'aggregator', {
    logger,
    whileAway: 'no mean field is published, so agents decide without one',
  });
  const { intervalMs } = config.aggregator;
  const aggregator = runAggregator({
    broker,
    clock,
    timers,
    intervalMs,
    host: hostName,
    boot,
    version: programVersion(),
    logger,
    heartbeat: operating.beat,
    failure: () => processFaults.fatal,
  });
  operating.watch({
    broker,
    update: (metrics) => updateAggregator(metrics, aggregator),
    checks: () => operatorCheck(pausedText(aggregator)),
  });
  return {
    stop: async () => {
      await aggregator.stop();
      await broker.close();
    },
  };
}
