import { z } from 'zod';
import { key, listen, section } from '../keys.js';

const LISTEN_DESCRIPTION =
  'Address and port of `/metrics`, `/livez` and `/readyz`; port 0: any free one; null: none';

export const metricsSchema = section(
  'Metrics and health over HTTP, without login: keep it on loopback or in a network of operators.',
  {
    hook: key(listen(), '127.0.0.1:9781', `${LISTEN_DESCRIPTION}. Of the hook.`),
    agents: key(listen(), '127.0.0.1:9782', `${LISTEN_DESCRIPTION}. Of the agent host.`),
    aggregator: key(listen(), '127.0.0.1:9783', `${LISTEN_DESCRIPTION}. Of the aggregator.`),
    functions: key(
      z.int().min(0).max(1000),
      20,
      'Functions with their own label in `/metrics`, the busiest first; the others are `other`.',
    ),
  },
);
