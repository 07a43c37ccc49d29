import { join } from 'node:path';
import type { Role } from '../../broker/index.js';
import { SYSTEM_CONFIG } from '../../runtime/index.js';

/** The parts that run as services. */
export const SERVICE_PARTS = ['hook', 'agents', 'aggregator', 'actions'] as const;
export type ServicePart = (typeof SERVICE_PARTS)[number];

/** The NATS role of a part; `actions` asks agents, which an operator may do. */
export const roleOf = (part: ServicePart): Role => (part === 'actions' ? 'operator' : part);

export const unitOf = (part: ServicePart): string => `gleaner-${part}.service`;

/** Paths on a host, below a root that is `/` except in tests and images. */
export function layoutOf(root: string) {
  const at = (path: string): string => join(root, path);
  return {
    root,
    at,
    home: '/opt/gleaner',
    releases: '/opt/gleaner/releases',
    current: '/opt/gleaner/current',
    manifest: '/opt/gleaner/installed.json',
    command: '/usr/local/bin/gleaner',
    config: SYSTEM_CONFIG,
    configFolder: '/etc/gleaner',
    nats: '/etc/gleaner/nats',
    units: '/etc/systemd/system',
    state: '/var/lib/gleaner',
  } as const;
}
export type Layout = ReturnType<typeof layoutOf>;
