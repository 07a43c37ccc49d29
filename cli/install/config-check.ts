import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { EXIT } from '../../config/index.js';

/**
 * What a release finds wrong with a configuration, one problem a line; null: nothing.
 * @param program folder of the release
 */
export type ConfigCheck = (node: string, program: string, config: string) => string | null;

const TIMEOUT_MILLIS = 60_000;

/**
 * Asks the release itself, as each knows its own keys. Services do not see this shell's variables,
 * so that the check does not either.
 */
export const configCheck: ConfigCheck = (node, program, config) => {
  const { status, stdout, stderr, error } = spawnSync(
    node,
    [join(program, 'dist/cli/main.js'), '--config', config, 'config', 'check'],
    { encoding: 'utf8', timeout: TIMEOUT_MILLIS, env: withoutSettings(process.env) },
  );
  if (status === EXIT.ok) return null;
  return (status === EXIT.usage && stdout.trim()) || error?.message || (stderr || stdout).trim();
};

const withoutSettings = (variables: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(variables).filter(([name]) => !name.startsWith('GLEANER_')));
