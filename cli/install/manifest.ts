import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { errorClass } from '../../config/index.js';
import { type Layout, SERVICE_PARTS } from './layout.js';

class NotInstalledError extends errorClass('GLN_NOT_INSTALLED') {}
class ManifestDamagedError extends errorClass('GLN_MANIFEST_DAMAGED') {}

const manifestSchema = z.object({
  release: z.string(),
  /** The release of a rollback. */
  previous: z.string().nullable(),
  parts: z.array(z.enum(SERVICE_PARTS)),
  node: z.string(),
  /** Path below the root → SHA-256 of the written file. */
  files: z.record(z.string(), z.string()),
  /** Services were to be restarted with these files, and that has not succeeded yet. */
  restartPending: z.literal(true).optional(),
});
/** The installed files, which `check` compares and `remove` deletes. */
export type Manifest = z.infer<typeof manifestSchema>;

export const hashOf = (text: string | Uint8Array): string =>
  createHash('sha256').update(text).digest('hex');

/** Null: nothing is installed. @throws `GLN_MANIFEST_DAMAGED` */
export function readManifest(layout: Layout): Manifest | null {
  const file = layout.at(layout.manifest);
  if (!existsSync(file)) return null;
  try {
    return manifestSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (error) {
    throw new ManifestDamagedError(file, error);
  }
}

/** @throws `GLN_NOT_INSTALLED`, `GLN_MANIFEST_DAMAGED` */
export function requireManifest(layout: Layout): Manifest {
  const manifest = readManifest(layout);
  if (manifest !== null) return manifest;
  throw new NotInstalledError(layout.root);
}

export function writeManifest(layout: Layout, manifest: Manifest): void {
  writeFileSync(layout.at(layout.manifest), `${JSON.stringify(manifest, null, 1)}\n`);
}
