import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { EXIT } from '../../config/index.js';

/**
 * What a release finds wrong with a configuration, one problem a line; null: nothing.
 * @param program folder of the release
 * @param variables settings that the services get beside the file
 */
export type ConfigCheck = (
  node: string,
  program: string,
  config: string,
  variables: Readonly<Record<string, string>>,
) => string | null;

const TIMEOUT_MILLIS = 60_000;

/**
 * Runs `config check` of the release, as keys differ between releases, without the variables of
 * this shell, which services do not see.
 */
export const configCheck: ConfigCheck = (node, program, config, variables) => {
  const { status, signal, stdout, stderr, error } = spawnSync(
    node,
    [join(program, 'dist/cli/main.js'), '--config', config, 'config', 'check'],
    {
      encoding: 'utf8',
      timeout: TIMEOUT_MILLIS,
      killSignal: 'SIGKILL',
      env: { ...withoutSettings(process.env), ...variables },
    },
  );
  if (error !== undefined) return `\`config check\` did not run: ${error.message}`;
  if (status === EXIT.ok) return null;
  if (status !== EXIT.usage)
    return `\`config check\` ended with ${signal ?? status}: ${(stderr || stdout).trim()}`;
  const lines = stdout.trim().split('\n');
  return lines.filter((line) => !line.startsWith('warning: ')).join('\n');
};

const withoutSettings = (shell: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(shell).filter(([name]) => !name.startsWith('GLEANER_')));
