import { z } from 'zod';
import { key, section } from '../keys.js';

/** `host:port`, an IPv6 address in brackets. */
const listen = () =>
  z
    .string()
    .regex(/^(\d{1,3}(\.\d{1,3}){3}|\[[0-9a-fA-F:]+\]):\d{1,5}$/, 'must be an address and a port, like 127.0.0.1:9781')
    .refine((text) => Number(text.slice(text.lastIndexOf(':') + 1)) <= 65_535, 'the port must be at most 65535')
    .nullable();

const HERE = 'Address and port of `/metrics`, `/livez` and `/readyz`; port 0: any free one; null: none';

export const metricsSchema = section(
  'Metrics and health over HTTP. Nobody is asked who they are: keep it on loopback, or on a network of operators.',
  {
    hook: key(listen(), '127.0.0.1:9781', `${HERE}. Of the hook.`),
    agents: key(listen(), '127.0.0.1:9782', `${HERE}. Of the agent host.`),
    aggregator: key(listen(), '127.0.0.1:9783', `${HERE}. Of the aggregator.`),
    functions: key(
      z.int().min(0).max(1000),
      20,
      'Functions with a label of their own in `/metrics`, the busiest first; all others are `other`.',
    ),
  },
);
