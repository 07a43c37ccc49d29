import { type Config, messageOf } from '../../config/index.js';
import { statePaths, withBroker } from '../../runtime/index.js';
import { type Survey, surveyHost } from './survey.js';

const NATS_MILLIS = 1000;

/**
 * A survey of this host as the configuration would manage it; connects to the configured NATS
 * servers for a moment.
 */
export function surveyConfigured(config: Config): Promise<Survey> {
  const { servers, embedded } = config.nats;
  const nats = {
    ...config.nats,
    requestTimeoutMs: Math.min(NATS_MILLIS, config.nats.requestTimeoutMs),
  };
  const refusal = (): Promise<string | null> =>
    withBroker({ ...config, nats }, async (broker) => {
      await broker.flush();
      return null;
    }).catch(messageOf);
  return surveyHost(
    config.hook,
    { servers, binary: embedded.binary, refusal },
    statePaths(config).lock,
  );
}
