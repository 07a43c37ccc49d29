import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { nkeys } from 'nats';
import { CredentialsError } from '../../broker/index.js';

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/**
 * The public key of the seed in a file, which is made, mode 0600, where it is missing or `anew`.
 * Secrets are never returned.
 */
export function publicKeyOf(file: string, replace: boolean): string {
  if (replace || !existsSync(file)) {
    const pair = nkeys.createUser();
    writeFileSync(file, `${decoder.decode(pair.getSeed())}\n`, { mode: 0o600 });
    const key = pair.getPublicKey();
    pair.clear();
    return key;
  }
  try {
    const pair = nkeys.fromSeed(encoder.encode(readFileSync(file, 'utf8').trim()));
    const key = pair.getPublicKey();
    pair.clear();
    return key;
  } catch {
    throw new CredentialsError(file, 'it holds no nkey seed');
  }
}
