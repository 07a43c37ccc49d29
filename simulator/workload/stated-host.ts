import { existsSync, statSync } from 'node:fs';
import { findBuiltin, isBuiltin } from './builtin.js';
import { loadWorkload } from './shipped.js';
import { recognizeFile } from './trace-files.js';

/** Invoker hosts of a simulated cluster, all alike. */
export interface HostShape {
  readonly hosts: number;
  readonly cores: number;
  readonly memoryMiB: number;
  readonly userMemoryMiB: number;
}

/**
 * The hosts that a workload itself names: a file in the product's format has them (`host`), a
 * recorded trace does not.
 *
 * @throws WorkloadError
 */
function declaredHosts(nameOrPath: string): HostShape | undefined {
  const workload = isBuiltin(nameOrPath)
    ? hostedBuiltin(nameOrPath)
    : existsSync(nameOrPath) &&
        !statSync(nameOrPath).isDirectory() &&
        recognizeFile(nameOrPath).kind === 'product'
      ? loadWorkload(nameOrPath)
      : undefined;
  if (workload === undefined) return undefined;
  const { count, cores, memoryMiB, userMemoryMiB } = workload.host;
  return { hosts: count, cores, memoryMiB, userMemoryMiB };
}

/** Builtin workloads that are made for hosts of their own. */
const HOSTED: readonly string[] = ['azure-ten', 'profiles-12', 'profiles-12-slos'];

const hostedBuiltin = (name: string) =>
  HOSTED.includes(name.split(':')[0]!) ? findBuiltin(name, { whole: true }).workload : undefined;

/**
 * Where hosts come from: what a command line says, else what the workload says, else `defaults`.
 */
export function resolveHosts(
  nameOrPath: string,
  overrides: Partial<HostShape>,
  defaults: HostShape,
): HostShape {
  const stated = declaredHosts(nameOrPath);
  const base = stated ?? defaults;
  return {
    hosts: overrides.hosts ?? base.hosts,
    cores: overrides.cores ?? base.cores,
    memoryMiB: overrides.memoryMiB ?? base.memoryMiB,
    userMemoryMiB: overrides.userMemoryMiB ?? base.userMemoryMiB,
  };
}
