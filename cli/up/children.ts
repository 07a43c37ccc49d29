import { fileURLToPath } from 'node:url';
import type { Config } from '../../config/index.js';
import type { ChildSpec } from '../../runtime/index.js';

const main = fileURLToPath(new URL('../main.js', import.meta.url));

/**
 * Keeps the hook small, since it shares its host with functions (docs/results/footprint.md): V8
 * collects after a growth of 30 % and has a young generation of 1 MiB, with one thread beside the
 * main one. No source maps. Each Node that Gleaner supports must know these flags: it does not
 * start with one that it does not know. A test compares the starts by systemd and in a container.
 */
export const HOOK_FLAGS = ['--optimize-for-size', '--v8-pool-size=1'];
/** Limits must follow a packet soon, and the hook needs a core for only tens of us at a time. */
const HOOK_NICE = -10;

/** How a part is started: this program with the command of the same name. */
function partSpec(
  name: string,
  passed: readonly string[],
  options: { afterDeath?: () => Promise<void>; stopMillis?: number; nice?: number } = {},
): ChildSpec {
  return {
    name,
    command: process.execPath,
    args: [...(name === 'hook' ? HOOK_FLAGS : ['--enable-source-maps']), main, name, ...passed],
    channel: true,
    ...options,
  };
}

/** Arguments that give a child the same configuration: the file, and the keys set by flags. */
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
 * Parts in the order of their start. They stop in reverse order, so that the hook restores limits
 * before anything else ends.
 */
export function partSpecs(
  config: Config,
  passed: readonly string[],
  restore: () => Promise<void>,
): ChildSpec[] {
  const parts = config.dashboard.listen === null ? [] : [partSpec('dashboard', passed)];
  parts.push(partSpec('aggregator', passed), partSpec('agents', passed));
  if (config.platform === 'docker')
    parts.push(partSpec('workload', passed, { stopMillis: 30_000 }));
  // A simulated host exists only inside its hook, so that nothing is left to restore.
  const real = config.platform === 'simulated' ? {} : { afterDeath: restore, nice: HOOK_NICE };
  parts.push(partSpec('hook', passed, { ...real, stopMillis: 15_000 }));
  return parts;
}
