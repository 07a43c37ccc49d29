import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import type { Logger } from '../../broker/index.js';
import { type Config, configSchema, messageOf } from '../../config/index.js';
import { engineLockPath } from '../host/lock/index.js';
import type { HookOptions } from './build-hook.js';

const { shape } = configSchema;
const hookShape = shape.hook.unwrap().shape;

const recordSchema = z.object({
  configFile: z.string().nullable(),
  platform: shape.platform,
  hook: z.object({
    stateDir: hookShape.stateDir,
    engine: hookShape.engine,
    engineSocket: hookShape.engineSocket,
    containerPrefix: hookShape.containerPrefix,
  }),
});

/** What a restore needs to know of the hook that set the limits. */
type RecordedSettings = z.output<typeof recordSchema>;

const recordOf = (engineLock: string): string => engineLock.replace(/(\.lock)?$/, '.json');

/**
 * Records the hook's settings beside the lock of its engine, so that a restore after it was killed
 * does not depend on a configuration that may have been damaged since.
 */
export function recordHook(
  engineLock: string,
  { config, configFile = null, logger }: HookOptions,
): void {
  const { stateDir, engine, engineSocket, containerPrefix } = config.hook;
  const { platform } = config;
  const hook = { stateDir: resolve(stateDir), engine, engineSocket, containerPrefix };
  const path = recordOf(engineLock);
  try {
    writeFileSync(`${path}.new`, JSON.stringify({ configFile, platform, hook }), { mode: 0o600 });
    renameSync(`${path}.new`, path);
  } catch (error) {
    logger.warn(
      { path, error: messageOf(error) },
      'cannot record the settings of this hook: `gleaner restore` needs its configuration',
    );
  }
}

export function removeHookRecord(engineLock: string | undefined, logger: Logger): void {
  if (engineLock === undefined) return;
  const path = recordOf(engineLock);
  try {
    rmSync(path, { force: true });
  } catch (error) {
    // Every limit is the user's: the stop has not failed.
    logger.warn({ path, error: messageOf(error) }, 'cannot remove the record of this hook');
  }
}

/**
 * Settings of the hook with this configuration file (null: with none) that runs or was killed.
 * Null: none is recorded, or several are.
 */
export function recordedSettings(
  configFile: string | null,
  { hook }: Config,
): RecordedSettings | null {
  const folder = dirname(engineLockPath(hook.engineSocket, hook.stateDir));
  const found = recordsIn(folder).filter((record) => record.configFile === configFile);
  return found.length === 1 ? found[0]! : null;
}

function recordsIn(folder: string): RecordedSettings[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith('.json'))
      .flatMap((name) => {
        const { success, data } = recordSchema.safeParse(readJson(join(folder, name)));
        return success ? [data] : [];
      });
  } catch {
    return [];
  }
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    // Removed meanwhile, or cut by a full disk.
    return null;
  }
}
