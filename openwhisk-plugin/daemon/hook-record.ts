import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
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
 * Settings of the hooks with this configuration file (null: with none) that run or were killed:
 * one for each engine, the newest first.
 */
export function recordedSettings(
  configFile: string | null,
  { hook }: Config,
): readonly RecordedSettings[] {
  const folder = dirname(engineLockPath(hook.engineSocket, hook.stateDir));
  const byEngine = new Map<string, RecordedSettings>();
  for (const record of recordsIn(folder))
    if (record.configFile === configFile && !byEngine.has(record.hook.engineSocket))
      byEngine.set(record.hook.engineSocket, record);
  return [...byEngine.values()];
}

/** Newest first. */
function recordsIn(folder: string): RecordedSettings[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith('.json'))
      .flatMap((name) => readRecord(join(folder, name)))
      .sort((a, b) => b.at - a.at)
      .map(({ record }) => record);
  } catch {
    return [];
  }
}

function readRecord(path: string): { readonly record: RecordedSettings; readonly at: number }[] {
  try {
    const record = recordSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
    return [{ record, at: statSync(path).mtimeMs }];
  } catch {
    // Removed meanwhile, cut by a full disk, or of another release.
    return [];
  }
}
