import type { z } from 'zod';
import { NO_LIMIT } from '../../openwhisk-plugin/decision/index.js';
import { bridgesOf, containerInfo } from '../../openwhisk-plugin/host/docker/container-info.js';
import { negotiate, parse } from '../../openwhisk-plugin/host/docker/docker-client.js';
import {
  anyList,
  eventSchema,
  type Inspect,
  infoSchema,
  inspectSchema,
  listedSchema,
  networkSchema,
  readable,
  versionSchema,
} from '../../openwhisk-plugin/host/docker/docker-schemas.js';
import {
  EngineResponseError,
  EngineUnsupportedError,
} from '../../openwhisk-plugin/host/engine/engine-errors.js';
import { idOf, inspectOf, NETWORKS, VERSION } from '../openwhisk-plugin/host/docker/stub-engine.js';
import { type FuzzTarget, must } from './fuzz.js';
import type { Json } from './mutator.js';

const container = { id: idOf(1), name: 'wsk0_1_guest_f', startedAt: '2026-11-28T00:00:00.000001Z' };
const bridges = bridgesOf(readable(NETWORKS, networkSchema).items);

interface Answer {
  readonly path: string;
  readonly schema: z.ZodType;
  readonly example: unknown;
}

const answers: readonly Answer[] = [
  {
    path: '/containers/x/json',
    schema: inspectSchema,
    example: inspectOf({ ...container, host: { NanoCpus: 5e8 } }),
  },
  {
    path: '/containers/y/json',
    schema: inspectSchema,
    example: inspectOf({
      ...container,
      host: { CpuQuota: 50_000, CpuPeriod: 100_000, MemorySwap: -1 },
    }),
  },
  {
    path: '/containers/json',
    schema: anyList,
    example: [{ Id: idOf(1), Names: ['/wsk0_1_guest_f'], State: 'running' }],
  },
  {
    path: '/info',
    schema: infoSchema,
    example: { NCPU: 2, MemTotal: 8e9, ServerVersion: '20.10.24', CgroupVersion: '2' },
  },
  { path: '/networks', schema: anyList, example: NETWORKS },
  { path: '/version', schema: versionSchema, example: VERSION },
  {
    path: '/events',
    schema: eventSchema,
    example: {
      Type: 'container',
      Action: 'start',
      Actor: { ID: idOf(1), Attributes: { name: 'wsk0_1_guest_f' } },
      timeNano: 1.7e18,
    },
  },
];

/**
 * Answers of the Engine API as the client reads them; what inspect says becomes user limits, the
 * network bridges.
 */
export const engine: FuzzTarget = {
  name: 'engine',
  make(m) {
    const which = m.random.below(answers.length);
    const value = answers[which]!.example as Json;
    return Uint8Array.from([which, ...m.jsonBytes(m.chance(0.1) ? value : m.json(value))]);
  },
  check(input) {
    const { path, schema } = answers[input[0]! % answers.length]!;
    try {
      const value = parse(path, Buffer.from(input.subarray(1)).toString('utf8'), schema);
      if (path === '/networks') bridgesOf(readable(value as unknown[], networkSchema).items);
      if (path === '/containers/json') readable(value as unknown[], listedSchema);
      if (path === '/version') {
        const { ApiVersion, MinAPIVersion } = value as {
          ApiVersion?: string;
          MinAPIVersion?: string;
        };
        must(
          /^1\.\d+$/.test(negotiate(ApiVersion ?? '', MinAPIVersion ?? '1.24')),
          'the version spoken is one',
        );
      }
      if (schema === inspectSchema) userLimitsHold(value as Inspect);
      return 'accepted';
    } catch (error) {
      if (error instanceof EngineResponseError || error instanceof EngineUnsupportedError) {
        must(error.message.length > 0 && error.message.length < 2000, 'an error of bounded length');
        return error.code;
      }
      throw error;
    }
  },
};

/** Whatever inspect says: amounts that a kernel could be given. */
function userLimitsHold(inspect: Inspect): void {
  const { user, startedAt } = containerInfo(inspect, bridges);
  must(Number.isFinite(user.shares) && user.shares > 0, `shares ${user.shares}`);
  must(Number.isFinite(user.periodMicros) && user.periodMicros > 0, `period ${user.periodMicros}`);
  for (const name of ['quota', 'memory', 'memoryAndSwap'] as const)
    must(
      user[name] === NO_LIMIT || (Number.isFinite(user[name]) && user[name] > 0),
      `${name} ${user[name]}`,
    );
  must(
    user.memoryAndSwap === NO_LIMIT || user.memoryAndSwap >= user.memory,
    'memory with swap holds the memory',
  );
  must(Number.isFinite(startedAt), `started at ${startedAt}`);
}
