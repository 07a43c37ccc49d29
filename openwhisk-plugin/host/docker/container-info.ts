import { bytes, type Micros, millicores } from '../../../config/index.js';
import { CFS_PERIOD_MICROS } from '../../../rules/index.js';
import { NO_LIMIT, type UserLimits } from '../../decision/index.js';
import { EngineResponseError } from '../engine/index.js';
import type { Bridge, ContainerInfo } from '../ports/index.js';
import type { Inspect, Networks } from './docker-schemas.js';

const DEFAULT_SHARES = 1024;

/** Bridge networks by network id. */
export type BridgesById = ReadonlyMap<string, Bridge>;

/** The user's limits in the kernel's units. */
export function userLimits(host: Inspect['HostConfig']): UserLimits {
  const periodMicros =
    host.NanoCpus > 0 || host.CpuPeriod === 0 ? CFS_PERIOD_MICROS : host.CpuPeriod;
  let quota = NO_LIMIT;
  // After an update to "no quota" inspect shows -1 beside an old NanoCpus, which is not in force.
  if (host.CpuQuota > 0) quota = (host.CpuQuota / periodMicros) * 1000;
  else if (host.CpuQuota === 0 && host.NanoCpus > 0) quota = host.NanoCpus / 1e6;
  const memory = Math.max(0, host.Memory);
  let memoryAndSwap = NO_LIMIT;
  // The kernel keeps the sum of both at least at the memory.
  if (memory > 0 && host.MemorySwap >= 0)
    memoryAndSwap = host.MemorySwap > 0 ? Math.max(memory, host.MemorySwap) : memory * 2;
  return {
    shares: host.CpuShares > 0 ? host.CpuShares : DEFAULT_SHARES,
    quota: millicores(quota),
    memory: bytes(memory),
    memoryAndSwap: bytes(memoryAndSwap),
    periodMicros,
    ...(host.CpuShares > 0 ? {} : { sharesUnset: true }),
  };
}

/** Throws {@link EngineResponseError} if the start time cannot be read. */
export function containerInfo(inspect: Inspect, bridges: BridgesById): ContainerInfo {
  let address: string | null = null;
  let bridge: string | null = null;
  for (const endpoint of Object.values(inspect.NetworkSettings?.Networks ?? {})) {
    if (endpoint === null) continue;
    const found = bridges.get(endpoint.NetworkID);
    if (endpoint.IPAddress === '' || (address !== null && found === undefined)) continue;
    if (bridge !== null) break;
    address = endpoint.IPAddress;
    bridge = found?.interfaceName ?? null;
  }
  return {
    id: inspect.Id,
    name: inspect.Name.replace(/^\//, ''),
    address,
    bridge,
    pid: inspect.State.Pid,
    startedAt: parseStamp(inspect.State.StartedAt),
    paused: inspect.State.Paused,
    user: userLimits(inspect.HostConfig),
  };
}

/** RFC 3339 with up to nine decimals to us since the epoch; `Date.parse` stops at milliseconds. */
export function parseStamp(text: string): Micros {
  const match = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/.exec(text);
  const seconds = match ? Date.parse(`${match[1]}${match[3]}`) : Number.NaN;
  if (match === null || Number.isNaN(seconds))
    throw new EngineResponseError(`'${text}' is not a time`);
  return (seconds * 1000 + Number((match[2] ?? '').padEnd(6, '0').slice(0, 6))) as Micros;
}

/** The bridge networks among the engine's, by id. */
export function bridgesOf(networks: Networks): Map<string, Bridge> {
  const bridges = new Map<string, Bridge>();
  for (const network of networks) {
    if (network.Driver !== 'bridge') continue;
    const ipv4 = (network.IPAM?.Config ?? []).find((config) => !config.Subnet.includes(':'));
    bridges.set(network.Id, {
      interfaceName:
        network.Options?.['com.docker.network.bridge.name'] ?? `br-${network.Id.slice(0, 12)}`,
      networkName: network.Name,
      gateway: ipv4?.Gateway?.replace(/\/\d+$/, '') ?? null,
    });
  }
  return bridges;
}
