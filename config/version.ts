import { readFileSync } from 'node:fs';

/** Oldest Docker Engine API with the events, listing and inspect that Gleaner reads. */
export const MIN_DOCKER_API = '1.24';

/** package.json stands two folders above dist/cli. */
export function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

export const versionText = (): string =>
  `gleaner ${packageVersion()} (Node ${process.versions.node}, ` +
  `Engine API ${MIN_DOCKER_API} and newer)`;
