import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A nats-server with JetStream on the loopback only, which writes the port that it listens on to a
 * file in `portsFolder`. `port` -1: any free one, which it picks itself.
 */
export function natsServerArguments(
  port: number,
  storeFolder: string,
  portsFolder: string,
): string[] {
  const args = `--addr 127.0.0.1 --port ${port} --jetstream --store_dir`.split(' ');
  return [...args, storeFolder, '--ports_file_dir', portsFolder];
}

/** Port on which the server with this process id listens; null: not yet. */
export function natsServerPort(portsFolder: string, pid: number): number | null {
  const file = readdirSync(portsFolder).find((name) => name.endsWith(`_${pid}.ports`));
  if (file === undefined) return null;
  try {
    const ports = JSON.parse(readFileSync(join(portsFolder, file), 'utf8')) as { nats?: string[] };
    const url = ports.nats?.[0];
    return url === undefined ? null : Number(new URL(url).port);
  } catch {
    // The file is not complete yet.
    return null;
  }
}
