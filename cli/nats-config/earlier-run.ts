import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isHostName } from '../../broker/index.js';

/** What an earlier `gleaner nats-config` left in a folder. */

export const serverFile = (folder: string): string => join(folder, 'nats-server.conf');

export const hasSeed = (folder: string, name: string): boolean =>
  existsSync(join(folder, `${name}.nk`));

/** Hosts with a seed of their own for a role, such as `hook-invoker0.nk`, in order. */
export function seededHosts(folder: string, role: 'hook' | 'agents'): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((file) => file.startsWith(`${role}-`) && file.endsWith('.nk'))
    .map((file) => file.slice(role.length + 1, -'.nk'.length))
    .filter(isHostName)
    .sort();
}

/** The server's address and JetStream's folder; null: no such line. */
export function earlierServer(folder: string): {
  readonly listen: string | null;
  readonly storeFolder: string | null;
} {
  const file = serverFile(folder);
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  return {
    listen: quoted(/^listen: (".*")$/m.exec(text)),
    storeFolder: quoted(/^jetstream \{ store_dir: (".*?[^\\]")/m.exec(text)),
  };
}

function quoted(found: RegExpExecArray | null): string | null {
  if (found === null) return null;
  try {
    return JSON.parse(found[1]!) as string;
  } catch {
    // Edited by hand: as without the line.
    return null;
  }
}
