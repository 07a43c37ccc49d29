import { existsSync, readFileSync } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { CheckpointDamagedError, CheckpointMissingError } from '../errors.js';
import type { Checkpoint, Expected } from './checkpoint.js';
import { decodeCheckpoint, encodeCheckpoint, readModel } from './layers-format.js';

const MODEL = 'model.json';

/**
 * The weights get a new name and model.json is renamed into place last: readers find the old
 * checkpoint or the new one, also after a power failure.
 */
export async function saveCheckpoint(folder: string, checkpoint: Checkpoint): Promise<void> {
  const { model, weightsFile, weights } = encodeCheckpoint(checkpoint);
  await mkdir(folder, { recursive: true });
  await writeDurably(join(folder, weightsFile), weights);
  await writeDurably(join(folder, MODEL), model);
  for (const file of await readdir(folder))
    if (/^weights-.*\.bin$/.test(file) && file !== weightsFile)
      await rm(join(folder, file), { force: true });
}

/** Under another name, flushed to the disk, then renamed. */
export async function writeDurably(path: string, data: string | Uint8Array): Promise<void> {
  const temporary = `${path}.${process.pid}.part`;
  try {
    const file = await open(temporary, 'w');
    try {
      await file.writeFile(data);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    // Half a file would take the room that a full disk lacks.
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Rejects with `GLN_CHECKPOINT_MISSING`, `_DAMAGED`, `_FOREIGN` or `_NEWER`. */
export async function loadCheckpoint(folder: string, expected?: Expected): Promise<Checkpoint> {
  const path = join(folder, MODEL);
  let failure: unknown;
  // A writer may replace both files between our two reads: then the second attempt finds the new
  // ones.
  for (let attempt = 0; attempt < 2; attempt++) {
    const text = await readFile(path, 'utf8').catch((error: unknown) => {
      throw new CheckpointMissingError(folder, error);
    });
    const { weightsFile } = readModel(path, text);
    try {
      const weights = await readFile(join(folder, weightsFile));
      return decodeCheckpoint(path, text, weights, expected);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      failure = error;
    }
  }
  throw new CheckpointDamagedError(path, 'its weights file is missing', failure);
}

/**
 * A checkpoint that comes with the product; null if there is none. Throws
 * `GLN_CHECKPOINT_DAMAGED`, `_FOREIGN` or `_NEWER`.
 */
export function readShipped(folder: string, expected: Expected): Checkpoint | null {
  const path = join(folder, MODEL);
  if (!existsSync(path)) return null;
  const text = readFileSync(path, 'utf8');
  const weights = readFileSync(join(folder, readModel(path, text).weightsFile));
  return decodeCheckpoint(path, text, weights, expected);
}
