import { fileURLToPath } from 'node:url';
import type { Config } from '../../config/index.js';
import type { ChildSpec } from '../../runtime/index.js';

const main = fileURLToPath(new URL('../main.js', import.meta.url));

/**
 * The hook lives beside what it manages, so it is kept small (docs/results/footprint.md): half a
 * second's garbage is collected in 8 MiB instead of 32, and no source maps are held, 8 MiB more; a
 * stack trace of it names lines of `dist`, which differ little.
 */
const HOOK_FLAGS = ['--max-semi-space-size=4'];
/**
 * A limit is worth something soon after the packet, and the hook needs a core for some tens of us
 * at a time: it does not wait in line.
 */
const HOOK_NICE = -10;

/** How each part is started: the same program, the same configuration, one command each. */
export function partSpec(
  name: string,
  command: string,
  passed: readonly string[],
  options: { afterDeath?: () => Promise<void>; stopMillis?: number; nice?: number } = {},
): ChildSpec {
  return {
    name,
    command: process.execPath,
    args: [
      ...(command === 'hook' ? HOOK_FLAGS : ['--enable-source-maps']),
      main,
      command,
      ...passed,
    ],
    channel: true,
    ...options,
  };
}

/**
 * The command line that gives a child the configuration in force here: the same file, and every key
 * that differs from it.
 */
export function passedArguments(
  path: string | undefined,
  flags: Readonly<Record<string, unknown>>,
  servers: readonly string[],
): string[] {
  const args = path === undefined ? [] : ['--config', path];
  for (const [key, value] of Object.entries(flags)) {
    if (key === 'nats.servers') continue;
    args.push('--set', `${key}=${Array.isArray(value) ? value.join(',') : String(value)}`);
  }
  args.push('--nats', servers.join(','));
  return args;
}

/**
 * Parts in the order they start; they stop in the reverse order, so that the hook restores limits
 * before anything else ends.
 */
export function partSpecs(
  config: Config,
  passed: readonly string[],
  restore: () => Promise<void>,
): ChildSpec[] {
  const parts =
    config.dashboard.listen === null ? [] : [partSpec('dashboard', 'dashboard', passed)];
  parts.push(partSpec('aggregator', 'aggregator', passed), partSpec('agents', 'agents', passed));
  if (config.platform === 'docker')
    parts.push(partSpec('workload', 'workload', passed, { stopMillis: 30_000 }));
  // A simulated host lives and dies inside its hook: nothing of it is left to restore.
  const real = config.platform === 'simulated' ? {} : { afterDeath: restore, nice: HOOK_NICE };
  parts.push(partSpec('hook', 'hook', passed, { ...real, stopMillis: 15_000 }));
  return parts;
}
