import { z } from 'zod';
import { type Broker, NoRespondersError } from '../../broker/index.js';
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
const EMPTY = new Uint8Array(0);

/** Every answering instance of Gleaner's services with its statistics. */
export async function queryServices(broker: Broker): Promise<ServiceRow[]> {
  const answers = await broker
    .requestMany('$SRV.STATS', EMPTY, millis(WAIT_MILLIS))
    .catch((error: unknown) => {
      if (error instanceof NoRespondersError) return [];
      throw error;
    });
  const rows: ServiceRow[] = [];
  for (const { data } of answers) {
    const checked = statsSchema.safeParse(parsed(data));
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

function parsed(data: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(data));
  } catch {
    return null;
  }
}
