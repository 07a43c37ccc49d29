import { readFileSync } from 'node:fs';

/** package.json stands two folders above dist/cli. */
export function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
