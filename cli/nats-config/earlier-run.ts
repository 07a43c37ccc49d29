import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What an earlier `gleaner nats-config` left in a folder. */

export const serverFile = (folder: string): string => join(folder, 'nats-server.conf');

export interface EarlierServer {
  /** Null: no such line. */
  readonly listen: string | null;
  /** Of JetStream; null: no such line. */
  readonly storeFolder: string | null;
  /**
   * Names of its users that still have a seed, such as `hook-invoker0`. A seed alone is not enough:
   * its user may have been taken away.
   */
  readonly identities: readonly string[];
}

export function earlierServer(folder: string): EarlierServer {
  const file = serverFile(folder);
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const users = [...text.matchAll(/^ +# ([\w-]+)$/gm)].map(([, name]) => name!);
  return {
    identities: users.filter((name) => existsSync(join(folder, `${name}.nk`))),
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
