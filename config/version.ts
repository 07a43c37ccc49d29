import { readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Oldest Docker Engine API with the events, listing and inspect that Gleaner reads. */
export const MIN_DOCKER_API = '1.24';

/** package.json stands two folders above dist/cli. */
const packageUrl = (): URL => new URL('../../package.json', import.meta.url);

/**
 * Version of what runs. An installed release adds the hash of its folder's name, as builds of one
 * version differ while hosts are upgraded: `0.1.0+3f2a9c1b` (https://semver.org, build metadata).
 */
export function programVersion(url = packageUrl()): string {
  const { version } = JSON.parse(readFileSync(url, 'utf8')) as { version: string };
  const folder = basename(dirname(fileURLToPath(url)));
  const hash = folder.startsWith(`${version}-`) ? folder.slice(version.length + 1) : '';
  return /^[0-9a-f]{8}$/.test(hash) ? `${version}+${hash}` : version;
}

export const versionText = (): string =>
  `gleaner ${programVersion()} (Node ${process.versions.node}, ` +
  `Engine API ${MIN_DOCKER_API} and newer)`;
