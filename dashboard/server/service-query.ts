import { z } from 'zod';
import type { Broker } from '../../broker/index.js';
import { findServices } from '../../broker/services/index.js';
import { millis } from '../../config/index.js';
import type { ServiceRow } from '../wire.js';

/** The fields of an answer to `$SRV.STATS` that are shown. */
const statsSchema = z.looseObject({
  name: z.string().startsWith('gleaner-'),
  version: z.string(),
  started: z.string(),
  metadata: z.looseObject({ host: z.string() }),
  endpoints: z.array(
    z.looseObject({
      num_requests: z.number(),
      num_errors: z.number(),
      processing_time: z.number(),
      last_error: z.string().catch(''),
      // Absent in older services: then every error counts as a failure.
      data: z
        .looseObject({ failures: z.number(), last_failure: z.string() })
        .optional()
        .catch(undefined),
    }),
  ),
});

const WAIT_MILLIS = 300;

/** What the statistics of a service show. */
export type Statistics = Omit<ServiceRow, 'paused'>;

/** Every answering instance of Gleaner's services with its statistics. */
export async function queryServices(broker: Broker): Promise<Statistics[]> {
  const rows: Statistics[] = [];
  for (const instance of await findServices(broker, null, millis(WAIT_MILLIS), 'STATS')) {
    const checked = statsSchema.safeParse(instance);
    if (!checked.success) continue;
    const { name, version, started, metadata, endpoints } = checked.data;
    const sum = (of: (endpoint: (typeof endpoints)[number]) => number): number =>
      endpoints.reduce((all, endpoint) => all + of(endpoint), 0);
    const requests = sum((endpoint) => endpoint.num_requests);
    rows.push({
      service: name,
      host: metadata.host,
      version,
      started,
      requests,
      failures: sum(({ data, num_errors }) => data?.failures ?? num_errors),
      refused: sum(({ data, num_errors }) => num_errors - (data?.failures ?? num_errors)),
      micros:
        requests === 0
          ? 0
          : Math.round(sum((endpoint) => endpoint.processing_time) / requests / 1000),
      lastFailure:
        endpoints
          .map(({ data, last_error }) => data?.last_failure ?? last_error)
          .find((text) => text !== '') ?? '',
    });
  }
  return rows.sort((a, b) => a.service.localeCompare(b.service) || a.host.localeCompare(b.host));
}
